import type { ApprovalWay, NameApproval } from '@certwright/issuance';

/** @param ways of the terms; null: any way */
export function pendingApproval(
  dnsName: string,
  ways: Readonly<Record<string, ApprovalWay>> | null,
): NameApproval {
  const unapproved = { dnsName, status: 'pending', method: null, problem: null, checkedAt: null } as const;
  const way = ways !== null && Object.hasOwn(ways, dnsName) ? ways[dnsName] : undefined;
  return way === undefined ? unapproved : { ...unapproved, way };
}
