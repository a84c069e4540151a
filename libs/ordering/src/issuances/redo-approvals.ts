import { leases } from '@certwright/postgres';
import { isDeepStrictEqual } from 'node:util';
import type { ApprovalWay, NameApproval } from '@certwright/issuance';
import { approvalOf, type StoredApproval, toStoredApproval } from '@certwright/outcome-messages';
import { askForRecordsOf, askAgain, type Tx } from '@certwright/core-schema';
import { secondsToNextMail } from '@certwright/approvals';
import { pendingApproval } from './pending-approval';

type Ways = Readonly<Record<string, ApprovalWay>> | null;

export interface Redone {
  readonly issuanceId: string;
  /** After the fence: of the nudge. */
  readonly leaseToken: string;
}

/** Nothing would come of it: every name keeps its way, and no mailbox that is waited for can be sent another mail yet. */
export interface TooSoon {
  readonly retryAfterS: number;
}

/**
 * Gives the names of a plan's open issuance new ways, and has every one that is not approved yet looked at now. Whoever
 * holds the lease works for the old ways, so it is taken away: nothing that it finds counts. Mailboxes that have not
 * answered are asked once more, and records are looked at again. The caller holds the plan's row.
 *
 * @param ways null: every name in whichever way is in place; a name that is not in it keeps its way
 * @param termsId the plan's terms that say so: the issuance moves to them unless they want another certificate
 * @returns null when none is open; `TooSoon`: then the transaction must not be committed
 */
export async function redoApprovals(
  tx: Tx,
  planId: string,
  ways: Ways,
  termsId: string,
): Promise<Redone | TooSoon | null> {
  if ((await openOf(tx, planId, '')) === null) return null;
  // The order of locks: records and mailboxes before the issuance.
  await tx.query(askForRecordsOf('$1'), [planId]);
  await tx.query(askAgain('$1'), [planId]);
  const open = await openOf(tx, planId, 'FOR NO KEY UPDATE');
  if (open === null) return null;
  const approvals = open.approvals.map((approval) => approvalUnder(ways, approval));
  if (approvals.every((approval, at) => approval === open.approvals[at])) {
    const retryAfterS = await secondsToNextMail(tx, planId, approvals);
    if (retryAfterS !== null) return { retryAfterS };
  }
  const [rows] = await tx.query<[{ lease_token: string }[], number]>(redoStatement, [
    open.id,
    JSON.stringify(approvals.map(toStoredApproval)),
    termsId,
  ]);
  const [row] = rows;
  return row === undefined ? null : { issuanceId: open.id, leaseToken: row.lease_token };
}

/** What is approved stays approved where its way is the same. */
export function approvalUnder(ways: Ways, approval: NameApproval): NameApproval {
  const { dnsName } = approval;
  if (ways !== null && !Object.hasOwn(ways, dnsName)) return approval;
  const redone = pendingApproval(dnsName, ways);
  return isDeepStrictEqual(redone.way ?? null, approval.way ?? null) ? approval : redone;
}

async function openOf(
  tx: Tx,
  planId: string,
  lock: '' | 'FOR NO KEY UPDATE',
): Promise<{ readonly id: string; readonly approvals: readonly NameApproval[] } | null> {
  const [row] = await tx.query<[{ id: string; approvals: StoredApproval[] }?]>(
    `SELECT id, approvals FROM issuance WHERE plan_id = $1 AND state = 'open' ${lock}`,
    [planId],
  );
  return row === undefined ? null : { id: row.id, approvals: row.approvals.map(approvalOf) };
}

/** $1 issuance, $2 approvals, $3 terms. What a CA was begun to be asked for stays: the certificate is the same. */
const redoStatement = `
  UPDATE issuance SET
    approvals = $2::jsonb,
    terms_id = coalesce((
      SELECT wanted.id FROM terms AS wanted JOIN terms AS present ON present.id = issuance.terms_id
      WHERE wanted.id = $3 AND (wanted.plan_id, wanted.product, wanted.dns_names, wanted.key_type, wanted.csr)
        = (present.plan_id, present.product, present.dns_names, present.key_type, present.csr)), terms_id),
    lease_token = lease_token + 1,
    ${leases.release},
    hastened = false,
    due_at = clock_timestamp()
  WHERE id = $1 AND state = 'open' RETURNING lease_token`;
