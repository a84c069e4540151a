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
     WHERE revoked.id = $1 AND account.disabled_at IS NULL AND ${accountAddress} IS NOT NULL
       AND ${wantsMail('mail_when_revoked')}
       AND NOT EXISTS (
         SELECT 1 FROM certificate AS other
         WHERE other.plan_id = revoked.plan_id AND other.revoked_at = revoked.revoked_at
           AND other.ca_revoked_at IS NULL AND other.not_after >= clock_timestamp())
     RETURNING id`,
    [certificateId],
  );
  for (const { id } of rows) await addToOutbox(tx, sendMail(id, 0));
}
