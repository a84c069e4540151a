import { type PublicKey, readIssued, readPublicKey } from '@certwright/ct';
import { type IssuanceBody, unpackBody } from '@certwright/ct-index';

/** The logged DER of an issuance: its certificate if known, else its precertificate. */
export interface Certificate {
  /** SHA-256 over `der`. */
  readonly sha256: Buffer;
  readonly precertificate: boolean;
  readonly der: Buffer;
}

export function certificateOf({
  certSha256,
  precertificate,
  body,
}: Omit<IssuanceBody, 'position'>): Certificate {
  return { sha256: certSha256, precertificate, der: unpackBody(body) };
}

/** DER SubjectPublicKeyInfo; null: the certificate is too malformed to read it. */
export function spkiDerOf({ der, precertificate }: Certificate): Buffer | null {
  return readIssued(der, precertificate ? 'precertificate' : 'certificate').spkiDer;
}

export function publicKeyOf(spkiDer: Buffer | null): PublicKey {
  return spkiDer === null ? { type: 'unknown' } : readPublicKey(spkiDer);
}
