import { addToOutbox, type Tx } from '@certwright/core-schema';
import { sendMail } from '@certwright/jobs';
import { accountAddress } from './mails';

/**
 * Whether an account wants a kind of mail, as an SQL condition on `account`. Through JSON, so that it works without the
 * column too: then the default holds.
 */
export const wantsMail = (column: 'mail_when_issued' | 'mail_when_revoked'): string =>
  `coalesce((to_jsonb(account) ->> '${column}')::boolean, true)`;

/** Mails about instances of the certificate API (v2), for accounts that want them and have an address. */

/** In the transaction that attaches the certificate: one mail for each. The caller knows that the plan is that API's. */
export async function mailIssued(tx: Tx, accountId: string, certificateId: string): Promise<void> {
  const rows = await tx.query<{ id: string }[]>(
    `INSERT INTO mail (account_id, kind, recipient, facts, state, due_at)
     SELECT account.id, 'certificate-issued', ${accountAddress}, jsonb_build_object('certificateId', $2::text), 'pending',
       clock_timestamp()
     FROM account WHERE account.id = $1 AND account.disabled_at IS NULL AND ${accountAddress} IS NOT NULL
       AND ${wantsMail('mail_when_issued')}
     RETURNING id`,
    [accountId, certificateId],
  );
  for (const { id } of rows) await addToOutbox(tx, sendMail(id, 0));
}

/** Of an `account` that gets a mail when a revocation is complete. */
const wantsRevocationMail = `account.disabled_at IS NULL AND ${accountAddress} IS NOT NULL
       AND ${wantsMail('mail_when_revoked')}`;

/** Something that was revoked together with the certificate still has to be confirmed. */
const isIncomplete = (certificate: string) => `EXISTS (
         SELECT 1 FROM certificate AS other
         WHERE other.plan_id = ${certificate}.plan_id AND other.revoked_at = ${certificate}.revoked_at
           AND other.ca_revoked_at IS NULL AND other.not_after >= clock_timestamp())`;

/**
 * In the transaction that confirms the revocation of a certificate: one mail for all that were revoked by the same request,
 * when the last of them is confirmed. The caller holds the plan's row, so that of two that are confirmed at the same time
 * one is the last.
 */
export async function mailRevoked(tx: Tx, certificateId: string): Promise<void> {
  const rows = await tx.query<{ id: string }[]>(
    `INSERT INTO mail (account_id, kind, recipient, facts, state, due_at)
     SELECT account.id, 'revocation-complete', ${accountAddress}, jsonb_build_object('certificateId', revoked.id::text),
       'pending', clock_timestamp()
     FROM certificate AS revoked
     JOIN plan ON plan.id = revoked.plan_id AND plan.owner = 'certs-v2'
     JOIN account ON account.id = revoked.account_id
     WHERE revoked.id = $1 AND ${wantsRevocationMail} AND NOT ${isIncomplete('revoked')}
     RETURNING id`,
    [certificateId],
  );
  for (const { id } of rows) await addToOutbox(tx, sendMail(id, 0));
}

/**
 * Revocations that are complete without a confirmation, and were not mailed: the last certificate expired before its CA
 * confirmed it. Those of the last seven days, since sent mails are kept for 30 days. Mails are found by their certificate,
 * since an account may have changed its address. Each part is found in an index, whatever the planner expects: LIMIT keeps it
 * from joining all mails or accounts.
 *
 * @param planId of one plan, which the caller holds; null: of all
 * @returns of each, a certificate that was confirmed
 */
export async function lapsedRevocations(
  reader: Pick<Tx, 'query'>,
  planId: string | null,
): Promise<readonly { readonly planId: string; readonly certificateId: string }[]> {
  return await reader.query(
    `WITH lapsed AS MATERIALIZED (
       SELECT DISTINCT plan_id, account_id, revoked_at FROM certificate AS expired
       WHERE revoked_at IS NOT NULL AND ca_revoked_at IS NULL
         AND not_after > clock_timestamp() - interval '7 days' AND not_after < clock_timestamp()
         AND ($1::bigint IS NULL OR plan_id = $1) AND NOT ${isIncomplete('expired')})
     SELECT lapsed.plan_id AS "planId", confirmed.id AS "certificateId"
     FROM lapsed
     CROSS JOIN LATERAL (
       SELECT id FROM certificate
       WHERE plan_id = lapsed.plan_id AND revoked_at = lapsed.revoked_at AND ca_revoked_at IS NOT NULL
       ORDER BY ca_revoked_at DESC LIMIT 1) AS confirmed
     CROSS JOIN LATERAL (SELECT 1 FROM plan WHERE id = lapsed.plan_id AND owner = 'certs-v2' LIMIT 1) AS of_api
     CROSS JOIN LATERAL (
       SELECT 1 FROM account WHERE id = lapsed.account_id AND ${wantsRevocationMail} LIMIT 1) AS wanting
     WHERE (
       SELECT 1 FROM certificate AS mailed CROSS JOIN LATERAL (
         SELECT 1 FROM mail
         WHERE kind = 'revocation-complete' AND facts ->> 'certificateId' = mailed.id::text LIMIT 1) AS sent
       WHERE mailed.plan_id = lapsed.plan_id AND mailed.revoked_at = lapsed.revoked_at LIMIT 1) IS NULL`,
    [planId],
  );
}
