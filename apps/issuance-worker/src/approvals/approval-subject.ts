import { ancestorsToRegisteredDomain, baseName } from '@certwright/dns-names';
import { type Coverage, type Issuance, mayBeApprovedBy, type NameApproval } from '@certwright/issuance';
import type { ApprovalQuestion, ParentRecord } from './approver';

/** An issuance whose names are to be approved. */
export interface ApprovalSubject {
  readonly issuance: Pick<Issuance, 'accountId' | 'planId' | 'approvals' | 'openedAt'>;
  /** Name without `*.` → label of its standing record. */
  readonly labels: ReadonlyMap<string, string>;
  /** Name without `*.` → record that an integration publishes for it. */
  readonly records: Coverage['records'];
  /** Name → its approver by email, where no method is set. */
  readonly approverEmails: Readonly<Record<string, string>>;
  /** Whether the issuing CA accepts the record of a parent name (`recordAt`) for the name. */
  readonly acceptsParentRecords: boolean;
}

/** The question to an approver about one name: includes only the tenant's secrets that count for it. */
export function questionAbout(subject: ApprovalSubject, approval: NameApproval, now: Date): ApprovalQuestion {
  const { issuance, labels, records } = subject;
  const { accountId, planId } = issuance;
  const { dnsName } = approval;
  const base = baseName(dnsName);
  const byDns = mayBeApprovedBy(approval, 'dns');
  const delegationLabel = byDns ? (labels.get(base) ?? null) : null;
  // The transaction that stored the name stored the label too.
  if (byDns && delegationLabel === null) throw new Error(`no delegation label is stored for ${dnsName}`);
  const record = byDns ? (records.get(base) ?? null) : null;
  const parent = parentOf(subject, approval);
  const approverEmail = approverOf(subject, approval);
  return { accountId, planId, dnsName, delegationLabel, parent, record, approverEmail, now };
}

/** Only a parent name that the same owner controls, whatever was requested: down to the registered domain. */
function parentOf(
  { acceptsParentRecords, labels }: ApprovalSubject,
  { dnsName, way }: NameApproval,
): ParentRecord | null {
  const parent = way?.method === 'dns' && acceptsParentRecords ? way.recordAt : null;
  if (parent === null || parent === baseName(dnsName)) return null;
  const delegationLabel = labels.get(parent);
  if (delegationLabel === undefined || !ancestorsToRegisteredDomain(dnsName).includes(parent)) return null;
  return { dnsName: parent, delegationLabel };
}

function approverOf({ approverEmails }: ApprovalSubject, { dnsName, way }: NameApproval): string | null {
  if (way) return way.method === 'email' ? way.approverEmail : null;
  return Object.hasOwn(approverEmails, dnsName) ? (approverEmails[dnsName] ?? null) : null;
}
