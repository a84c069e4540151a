import { requestMailsAgain } from '../email-approvals/mail-requests';

/** Open issuances that wait for their next step, and those that a worker holds. */
export const wakeWhere = (whose: string) => `
  UPDATE issuance SET
    due_at = least(due_at, clock_timestamp()),
    hastened = coalesce(leased_until > clock_timestamp(), false)
  WHERE ${whose} AND state = 'open'
    AND (due_at > clock_timestamp() OR leased_until > clock_timestamp())`;

/**
 * Makes the open issuance of a plan due now, and requests another mail to its mailboxes.
 *
 * @param planId its placeholder, `$1`
 */
export const wakePlan = (planId: string) => `
  WITH requested AS (${requestMailsAgain(planId)})
  ${wakeWhere(`plan_id = ${planId}`)}
    AND opened_at < clock_timestamp() - interval '1 second'
  RETURNING id, lease_token`;
