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
 */
export function standingRecords(
  dnsName: string,
  label: string,
  approvalZone: string,
): readonly StandingRecord[] {
  const name = `${approvalLabelOf(dnsName)}.`;
  const value = `${label}.${approvalZone}.`;
  return [
    { name, type: 'CNAME', value },
    { name, type: 'NS', value },
  ];
}

/** Baseline Requirements, section 3.2.2.4.4: the constructed mailboxes of a domain's owner. */
const constructedMailboxes = ['admin', 'administrator', 'hostmaster', 'postmaster', 'webmaster'] as const;

/**
 * RFC 8555, section 8.4: a wildcard is approved at its base name. A base name over 237 bytes exceeds the limit of 253
 * with the label, so it cannot be approved by DNS.
 */
export function approvalLabelOf(name: string): string {
  return `_acme-challenge.${baseName(name)}`;
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
