import { ancestorsToRegisteredDomain, baseName } from '@certwright/dns-names';
import { type Coverage, type Issuance, mayBeApprovedBy, type NameApproval } from '@certwright/issuance';
import type { ApprovalQuestion, ParentRecord } from './approver';

/** An issuance whose names are to be approved. */
export interface ApprovalSubject {
  readonly issuance: Pick<Issuance, 'accountId' | 'planId' | 'approvals' | 'openedAt'>;
  /** Name without `*.` → label of its standing record. */
  readonly labels: ReadonlyMap<string, string>;
  /** Name without `*.` → what an integration publishes for it. */
  readonly records: Coverage['records'];
  /** Name → who may approve it by email, where no way is said. */
  readonly approverEmails: Readonly<Record<string, string>>;
  /** Whether the CA that will issue takes the record of a name above (`recordAt`) for that of the name. */
  readonly acceptsParentRecords: boolean;
}

/** What an approver is asked about one name: of the tenant's secrets only those that count for it. */
export function questionAbout(subject: ApprovalSubject, approval: NameApproval, now: Date): ApprovalQuestion {
  const { issuance, labels, records } = subject;
  const { accountId, planId } = issuance;
  const { dnsName } = approval;
  const base = baseName(dnsName);
  const byDns = mayBeApprovedBy(approval, 'dns');
  const delegationLabel = byDns ? (labels.get(base) ?? null) : null;
  // Whoever named it stored the label in the same transaction.
  if (byDns && delegationLabel === null) throw new Error(`no delegation label is stored for ${dnsName}`);
  const record = byDns ? (records.get(base) ?? null) : null;
  const parent = parentOf(subject, approval);
  const approverEmail = approverOf(subject, approval);
  return { accountId, planId, dnsName, delegationLabel, parent, record, approverEmail, now };
}

/** Only a name above that the same owner controls, whatever was asked for: down to the registered domain. */
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
