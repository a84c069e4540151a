/**
 * The indexed data of one issuance, from the first entry in which it was seen. Digests and keys are lower-case hexadecimal
 * digits, as the hash functions return them: creating a Buffer for each would take as long as another digest.
 */
export interface NewIssuance {
  /** SHA-256 over the transparency TBSCertificate: identifies the issuance. */
  readonly tbsSha256: string;
  /** SHA-256 over the DER certificate or precertificate in `body`. */
  readonly certSha256: string;
  readonly precertificate: boolean;
  /** SHA-256 over the DER SubjectPublicKeyInfo. */
  readonly spkiSha256: string;
  readonly issuer: NewIssuer;
  /** URL of the revocation list in the certificate, as `Issued.crlUrl`; null: none. */
  readonly crlUrl: string | null;
  readonly serial: Buffer;
  readonly notBefore: Date;
  /** `noEnd` if it cannot be read. */
  readonly notAfter: Date;
  readonly dnsNames: readonly string[];
  /** As `Issued.oddNames`: without NUL, which PostgreSQL cannot store. */
  readonly oddNames: readonly string[];
  /** Keys of the index, from `indexKeys`; no duplicates. */
  readonly nameKeys: readonly string[];
  /** Packed DER. */
  readonly body: Buffer;
}

export interface NewIssuer {
  /** SHA-256 over the DER SubjectPublicKeyInfo of the issuer. */
  readonly spkiSha256: Buffer;
  /** DER Name. */
  readonly nameDer: Buffer;
  /** A CA certificate with this key, if the entry contained one; null: none. */
  readonly certificateDer: Buffer | null;
  /** Of that certificate. */
  readonly spkiDer: Buffer | null;
}

/** RFC 5280, 4.1.2.5: no well-defined expiration date. */
export const noEnd = new Date('9999-12-31T23:59:59Z');
