import type { FindingAlert } from '@certwright/core-schema';

/** What of a finding is compared with the one before it. */
export interface Compared {
  /** Of all names of the certificate. */
  readonly dnsNamesSha256: Buffer;
  readonly spkiSha256: Buffer | null;
  readonly issuerSpkiSha256: Buffer | null;
  /** The organization that controls the issuer's key; null: not known. */
  readonly issuerOperator: string | null;
}

/** @param previous the newest finding before it that shares a monitored name; null: none */
export function changeOf(finding: Compared, previous: Compared | null): FindingAlert['change'] {
  if (previous === null) return 'first';
  const hasNewNames = !finding.dnsNamesSha256.equals(previous.dnsNamesSha256);
  const hasNewIssuer = !hasSameIssuer(finding, previous);
  // A renewal usually has a new key.
  if (!hasNewNames && !hasNewIssuer) return 'renewal';
  return [
    ...(hasNewNames ? (['new_names'] as const) : []),
    ...(hasNewIssuer ? (['new_issuer'] as const) : []),
    ...(equal(finding.spkiSha256, previous.spkiSha256) ? [] : (['new_key'] as const)),
  ];
}

function hasSameIssuer(one: Compared, other: Compared): boolean {
  if (equal(one.issuerSpkiSha256, other.issuerSpkiSha256)) return true;
  return one.issuerOperator !== null && one.issuerOperator === other.issuerOperator;
}

/** The digest of an issuer whose key is not known. */
const noKey = Buffer.alloc(32);

function equal(one: Buffer | null, other: Buffer | null): boolean {
  return one !== null && !one.equals(noKey) && other?.equals(one) === true;
}
