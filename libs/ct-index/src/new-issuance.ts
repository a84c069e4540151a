/**
 * What the index keeps of one issuance: read from the first entry in which it was seen. Digests and keys are lower-case hexadecimal
 * digits, as hashing gives them: a Buffer for each would take as long as another digest.
 */
export interface NewIssuance {
  /** SHA-256 over the transparency TBSCertificate: which issuance it is. */
  readonly tbsSha256: string;
  /** SHA-256 over the DER certificate or precertificate in `body`. */
  readonly certSha256: string;
  readonly precertificate: boolean;
  /** SHA-256 over the DER SubjectPublicKeyInfo. */
  readonly spkiSha256: string;
  readonly issuer: NewIssuer;
  /** URL of the revocation list that it names, as `Issued.crlUrl`; null: none. */
  readonly crlUrl: string | null;
  readonly serial: Buffer;
  readonly notBefore: Date;
  /** Where it cannot be read: `noEnd`. */
  readonly notAfter: Date;
  readonly dnsNames: readonly string[];
  /** Keys under which it is found, as `indexKeys` tells them; no duplicates. */
  readonly nameKeys: readonly string[];
  /** Packed DER. */
  readonly body: Buffer;
}

export interface NewIssuer {
  /** SHA-256 over the DER SubjectPublicKeyInfo of the issuer. */
  readonly spkiSha256: Buffer;
  /** DER Name. */
  readonly nameDer: Buffer;
  /** A CA certificate with this key, where the entry brought one along; null: none. */
  readonly certificateDer: Buffer | null;
  /** Of that certificate. */
  readonly spkiDer: Buffer | null;
}

/** RFC 5280, 4.1.2.5: no well-defined expiration date. */
export const noEnd = new Date('9999-12-31T23:59:59Z');
