import type { KeyType } from './product';

export interface Certificate {
  readonly id: string;
  readonly dnsNames: readonly string[];
  readonly keyType: KeyType;
  /** SHA-256 over the DER SubjectPublicKeyInfo. */
  readonly spkiSha256: Uint8Array;
  readonly notBefore: Date;
  /** The last instant at which it is valid (RFC 5280, 4.1.2.5). */
  readonly notAfter: Date;
  readonly revokedAt: Date | null;
}

export type CertificateState = 'valid' | 'revoked' | 'expired';

/** `valid → revoked`, `valid → expired`, `revoked → expired`: expiry takes precedence. */
export function certificateState(
  certificate: Pick<Certificate, 'notAfter' | 'revokedAt'>,
  now: Date,
): CertificateState {
  if (certificate.notAfter.getTime() < now.getTime()) return 'expired';
  return certificate.revokedAt === null ? 'valid' : 'revoked';
}

/** What a certificate must match: the requested names and the key. */
export interface Wanted {
  readonly dnsNames: readonly string[];
  /** Null while the CSR is missing: then no certificate matches. */
  readonly spkiSha256: Uint8Array | null;
}

/** The newest valid certificate that matches names and key; else the valid one that expires last; else null. */
export function bestCertificate<C extends Certificate>(
  certificates: readonly C[],
  wanted: Wanted,
  now: Date,
): C | null {
  const valid = certificates.filter((certificate) => certificateState(certificate, now) === 'valid');
  const matching = valid.filter((certificate) => matches(certificate, wanted));
  if (matching.length > 0) return last(matching, (certificate) => certificate.notBefore);
  return last(valid, (certificate) => certificate.notAfter);
}

function matches(certificate: Certificate, { dnsNames, spkiSha256 }: Wanted): boolean {
  if (spkiSha256 === null || Buffer.compare(certificate.spkiSha256, spkiSha256) !== 0) return false;
  const names = new Set(certificate.dnsNames);
  return names.size === new Set(dnsNames).size && dnsNames.every((name) => names.has(name));
}

/** The element with the latest instant; of equal ones, the later in the list. */
function last<C>(items: readonly C[], instant: (item: C) => Date): C | null {
  return items.reduce<C | null>(
    (best, item) => (best === null || instant(item).getTime() >= instant(best).getTime() ? item : best),
    null,
  );
}
