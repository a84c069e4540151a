/** The types of record that relate to the issuance of certificates; no other is ever touched. */
export const recordTypes = ['TXT', 'CAA', 'CNAME', 'NS'] as const;
export type RecordType = (typeof recordTypes)[number];

export interface WantedRecord {
  /** The owner name, absolute with or without its dot: `_acme-challenge.www.example.com`. */
  readonly fqdn: string;
  readonly type: RecordType;
  /**
   * TXT: the text itself, without quotes, printable ASCII, at most 512 octets (strings of 255 are joined). CAA:
   * `0 issue "ca.example"` (RFC 8659, section 4.1.1). CNAME, NS: the target's name.
   */
  readonly value: string;
  /** Seconds. Default: what the provider takes, at least 60. */
  readonly ttl?: number;
  /**
   * True: afterwards it is the only one of these types at its name, as a CNAME must be. Default: true for CNAME and NS,
   * false for TXT and CAA, which stand beside others.
   */
  readonly replace?: boolean;
}

/** A zone that an integration may change. */
export interface Zone {
  /** The provider's own, opaque. */
  readonly id: string;
  /** Lower case, A-labels, no dot at the end. */
  readonly name: string;
}
