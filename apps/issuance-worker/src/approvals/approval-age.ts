import { mayBeApprovedBy, type NameApproval } from '@certwright/issuance';

/** RFC 3339, UTC, without fractions: as it stands in an approval. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/**
 * Approvals that have grown too old while the issuance waited for something else are looked for again, and so is one by
 * another way than the one that counts.
 *
 * @param reuseMs how long an approval counts
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
 * For how long what was found counts as found just now: an order is asked for only on what stands then, since the record may
 * have been taken away. Longer than checking a hundred names takes, and less than the first back-off (1 min), ms.
 */
const freshMs = 55_000;

/** What stands outside, and can be looked at, is looked at anew before each order; what a person said stands as said. */
export function freshlyApproved(approvals: readonly NameApproval[], now: Date): readonly NameApproval[] {
  const since = timestamp(new Date(now.getTime() - freshMs));
  return approvals.map((approval) => {
    const { status, method, checkedAt } = approval;
    const isOld = status === 'approved' && method !== 'email' && (checkedAt === null || checkedAt < since);
    return isOld ? unapproved(approval) : approval;
  });
}

/** The way that counts stays as it was said. */
function unapproved(approval: NameApproval): NameApproval {
  return { ...approval, status: 'pending', method: null };
}
