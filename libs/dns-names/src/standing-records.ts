import { ancestorsToRegisteredDomain, baseName } from './domain-tree';

/** A record as zone files and providers know it. */
export interface StandingRecord {
  /** With the dot at its end. */
  readonly name: string;
  readonly type: 'CNAME' | 'NS';
  /** With the dot at its end. */
  readonly value: string;
}

/**
 * Either record, published once, approves the name now and at every renewal: it delegates the record of RFC 8555,
 * section 8.4, to the zone that the system serves.
 *
 * @param dnsName in normal form; a wildcard is approved at its base name
 * @param label the secret label of account and name in the approval zone
 * @param approvalZone without a dot at its end
 * @returns none for a name that is too long for them
 */
export function standingRecords(
  dnsName: string,
  label: string,
  approvalZone: string,
): readonly StandingRecord[] {
  if (!canHaveApprovalRecord(dnsName)) return [];
  const name = `${approvalLabelOf(dnsName)}.`;
  const value = `${label}.${approvalZone}.`;
  return [
    { name, type: 'CNAME', value },
    { name, type: 'NS', value },
  ];
}

/** Baseline Requirements, section 3.2.2.4.4: the constructed mailboxes of a domain's owner. */
const constructedMailboxes = ['admin', 'administrator', 'hostmaster', 'postmaster', 'webmaster'] as const;

const approvalLabel = '_acme-challenge.';

/** Bytes of a name without `*.`: with the label, it has at most 253 (RFC 1035, section 2.3.4, as text). */
export const maxLengthOfApprovedByDns = 253 - approvalLabel.length;

/** RFC 8555, section 8.4: a wildcard is approved at its base name. */
export function approvalLabelOf(name: string): string {
  return `${approvalLabel}${baseName(name)}`;
}

/** Whether the name leaves room for the label, so that it can be approved by DNS. */
export function canHaveApprovalRecord(name: string): boolean {
  return baseName(name).length <= maxLengthOfApprovedByDns;
}

/** Five addresses at the base name, then at each parent, down to the registered domain. Takes a name in normal form. */
export function constructedApproverAddresses(name: string): readonly string[] {
  return ancestorsToRegisteredDomain(name).flatMap((domain) =>
    constructedMailboxes.map((mailbox) => `${mailbox}@${domain}`),
  );
}

/** Whether an address is one of the constructed ones, case-insensitively. */
export function isConstructedApproverAddress(name: string, address: string): boolean {
  // ASCII only: U+212A and the like fold to ASCII letters.
  return /^[\x21-\x7e]+$/.test(address) && constructedApproverAddresses(name).includes(address.toLowerCase());
}
