import { askAgain } from '../email-approvals/asking';

/** Open issuances that wait for their next look, and those that are just being looked at. */
export const hastenWhere = (whose: string) => `
  UPDATE issuance SET
    due_at = least(due_at, clock_timestamp()),
    hastened = coalesce(leased_until > clock_timestamp(), false)
  WHERE ${whose} AND state = 'open'
    AND (due_at > clock_timestamp() OR leased_until > clock_timestamp())`;

/**
 * Looks now at the open issuance of a plan, and asks its mailboxes again.
 *
 * @param planId its placeholder, `$1`
 */
export const hastenPlan = (planId: string) => `
  WITH asked AS (${askAgain(planId)})
  ${hastenWhere(`plan_id = ${planId}`)}
    AND opened_at < clock_timestamp() - interval '1 second'
  RETURNING id, lease_token`;
