import { approvalLabelOf, baseName } from '@certwright/dns-names';
import { type Issuance, type NameApproval, nextAttemptAt, phaseOf } from '@certwright/issuance';
import type { DelegationLabels } from '@certwright/persistence';
import type { StoredOrder } from '../orders/order';
import { timestamp } from './timestamp';

export interface IssuanceFacts {
  /** The newest issuance of the order, open or not. */
  readonly latest: Issuance | null;
  /** Of the order's names, without `*.`. */
  readonly labels: DelegationLabels;
  readonly approvalZone: string;
  readonly now: Date;
}

/** What happens now, and what the caller can do about it. */
export function issuanceJson(
  order: StoredOrder,
  { latest, labels, approvalZone, now }: IssuanceFacts,
): object {
  const phase = phaseOf(order, latest, now);
  const nextAttempt = nextAttemptAt(phase, latest);
  const approvals = new Map(latest?.approvals.map((approval) => [approval.dnsName, approval]));
  return {
    phase,
    last_error: latest?.lastError ? { code: latest.lastError.code, message: latest.lastError.message } : null,
    next_attempt_at: nextAttempt === null ? null : timestamp(nextAttempt),
    names: order.dnsNames.map((dnsName) => ({
      ...approvalJson(dnsName, approvals.get(dnsName)),
      record: { options: recordOptions(dnsName, labels.get(baseName(dnsName)), approvalZone) },
    })),
  };
}

function approvalJson(dnsName: string, approval: NameApproval | undefined): object {
  return {
    dns_name: dnsName,
    approval_method: approval?.method ?? null,
    status: approval?.status ?? 'pending',
    problem: approval?.problem ?? null,
    checked_at: approval?.checkedAt ? timestamp(new Date(approval.checkedAt)) : null,
  };
}

/** Any one of these standing records approves the name, now and at every renewal. */
function recordOptions(dnsName: string, label: string | undefined, approvalZone: string): object[] {
  if (label === undefined) return [];
  const name = `${approvalLabelOf(dnsName)}.`;
  const value = `${label}.${approvalZone}.`;
  return [
    { name, type: 'CNAME', value },
    { name, type: 'NS', value },
  ];
}
