import { advanceIssuance } from '@certwright/jobs';
import type { DefinerFunction } from '@certwright/postgres';
import { requestRecordChecks } from '../approval-records/record-checks';
import { wakePlan } from '../issuances/wake-statements';
import { linkOfToken, linkStatement, useLink } from './approval-links';

const wakeUp = advanceIssuance('%s', '%s');

/**
 * Link operations of approval-responder, as functions that run as the owner of the tables: its role sees the subject
 * of a link with a known token, and can neither list links nor read or change the accounts, orders and issuances
 * behind them.
 */
export const linkFunctions: readonly DefinerFunction[] = [
  {
    signature: 'approval_link(bytea)',
    definition: (asOwner) => `
      CREATE OR REPLACE FUNCTION approval_link(token_sha256 bytea) RETURNS jsonb LANGUAGE sql STABLE ${asOwner} AS
      $$ SELECT to_jsonb(found) FROM (${linkStatement}) AS found $$`,
  },
  // Same as `EmailApprovals.approve` without the function. Returns the link as it was found.
  {
    signature: 'approve_link(bytea)',
    definition: (asOwner) => `
      CREATE OR REPLACE FUNCTION approve_link(token_sha256 bytea) RETURNS jsonb LANGUAGE plpgsql ${asOwner} AS $$
      DECLARE
        link jsonb;
        approval_of_link bigint;
        plan_of_link bigint;
        woken record;
      BEGIN
        PERFORM 1 FROM plan WHERE id = (${linkOfToken}) FOR UPDATE;
        link := approval_link($1);
        IF link IS NULL OR (link ->> 'used')::boolean OR (link ->> 'expired')::boolean
          OR NOT coalesce((link ->> 'wanted')::boolean, false) THEN
          RETURN link;
        END IF;
        approval_of_link := link ->> 'approvalId';
        plan_of_link := link ->> 'planId';
        ${useLink('approval_of_link')};
        ${requestRecordChecks('plan_of_link')} AND state = 'wanted';
        FOR woken IN ${wakePlan('plan_of_link')} LOOP
          INSERT INTO outbox (job, job_id, payload) VALUES (
            '${wakeUp.name}', format('${wakeUp.id}', woken.id, woken.lease_token),
            format('${JSON.stringify(wakeUp.payload)}', woken.id)::jsonb);
        END LOOP;
        RETURN link;
      END $$`,
  },
];
