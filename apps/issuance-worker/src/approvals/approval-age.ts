import { mayBeApprovedBy, type NameApproval } from '@certwright/issuance';

/** RFC 3339, UTC, without fractions: as in an approval. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/**
 * Approvals that became too old while the issuance waited are checked again, and so are approvals by another method
 * than the one that counts.
 *
 * @param reuseMs validity period of an approval
 */
export function stillApproved(
  approvals: readonly NameApproval[],
  now: Date,
  reuseMs: number,
): readonly NameApproval[] {
  const since = timestamp(new Date(now.getTime() - reuseMs));
  return approvals.map((approval) => {
    const { status, method, checkedAt } = approval;
    if (status !== 'approved') return approval;
    const isOld = checkedAt !== null && checkedAt < since;
    const counts = method === null || mayBeApprovedBy(approval, method);
    return isOld || !counts ? unapproved(approval) : approval;
  });
}

/**
 * How long a result counts as current: an order is only created on current results, since the record may have been
 * removed. Longer than checking a hundred names takes, and shorter than the first back-off (1 min), ms.
 */
const freshMs = 55_000;

/** External state is checked again before each order; an approval by a person is kept. */
export function freshlyApproved(approvals: readonly NameApproval[], now: Date): readonly NameApproval[] {
  const since = timestamp(new Date(now.getTime() - freshMs));
  return approvals.map((approval) => {
    const { status, method, checkedAt } = approval;
    const isOld = status === 'approved' && method !== 'email' && (checkedAt === null || checkedAt < since);
    return isOld ? unapproved(approval) : approval;
  });
}

/** The method that counts is kept. */
function unapproved(approval: NameApproval): NameApproval {
  return { ...approval, status: 'pending', method: null };
}
