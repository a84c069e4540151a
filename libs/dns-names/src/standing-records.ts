import { approvalLabelOf } from './approval';

/** A record as zone files and providers know it. */
export interface StandingRecord {
  /** With the dot at its end. */
  readonly name: string;
  readonly type: 'CNAME' | 'NS';
  /** With the dot at its end. */
  readonly value: string;
}

/**
 * Any one of them, published once, approves the name now and at every renewal: it leads a CA that looks for the record of
 * RFC 8555, section 8.4, into the zone where the system answers.
 *
 * @param dnsName in normal form; a wildcard is approved at its base name
 * @param label the secret that stands for account and name in the approval zone
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
