import { leases } from '@certwright/postgres';
import { isDeepStrictEqual } from 'node:util';
import type { ApprovalWay, NameApproval } from '@certwright/issuance';
import { approvalOf, type StoredApproval, toStoredApproval } from '@certwright/outcome-messages';
import { requestRecordChecks, requestMailsAgain, type Tx } from '@certwright/core-schema';
import { secondsToNextMail } from '@certwright/approvals';
import { pendingApproval } from './pending-approval';

type Ways = Readonly<Record<string, ApprovalWay>> | null;

export interface Redone {
  readonly issuanceId: string;
  /** Fencing token of the wake-up. */
  readonly leaseToken: string;
}

/** No effect: every name keeps its method, and no pending mailbox can be sent another mail yet. */
export interface TooSoon {
  readonly retryAfterS: number;
}

/**
 * Sets new approval methods for the names of a plan's open issuance, and makes all pending names due now. The holder
 * of the lease works with the old methods, so its lease is revoked and its results are discarded. Pending mailboxes
 * get another mail, and records are checked again. The caller holds the plan's row.
 *
 * @param ways null: every name by any method that is in place; a name that is not listed keeps its method
 * @param termsId the plan's terms with these methods: the issuance moves to them unless they need another certificate
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
  await tx.query(requestRecordChecks('$1'), [planId]);
  await tx.query(requestMailsAgain('$1'), [planId]);
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

/** A name stays approved when its method is the same. */
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

/** $1 issuance, $2 approvals, $3 terms. A request that was begun at a CA stays: the certificate is the same. */
const redoStatement = `
  UPDATE issuance SET
    approvals = $2::jsonb,
    terms_id = coalesce((
      SELECT wanted.id FROM terms AS wanted JOIN terms AS present ON present.id = issuance.terms_id
      WHERE wanted.id = $3 AND (wanted.plan_id, wanted.product, wanted.dns_names, wanted.key_type, wanted.csr)
        = (present.plan_id, present.product, present.dns_names, present.key_type, present.csr)), terms_id),
    lease_token = lease_token + 1,
    ${leases.release},
    hastened = false, /* language: column */
    due_at = clock_timestamp()
  WHERE id = $1 AND state = 'open' RETURNING lease_token`;
