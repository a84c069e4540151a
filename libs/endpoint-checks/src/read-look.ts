import { type Certificate, logIdentity, readCertificate, sha256Hex } from '@certwright/pki';
import type { Look } from './look';

/** A certificate that a server presented as its own. Digests are lower-case hexadecimal. */
export interface PresentedLeaf {
  /** SHA-256 over the DER certificate. */
  readonly sha256: string;
  /** SHA-256 over the TBSCertificate without SCT list. */
  readonly tbsSha256: string;
  /** SHA-256 over the DER SubjectPublicKeyInfo. */
  readonly spkiSha256: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly dnsNames: readonly string[];
}

/** A look whose certificates were read once, for the endpoints of every account. */
export class ReadLook {
  /** In the order of `look.certificates`; null: it cannot be read. */
  readonly certificates: readonly (Certificate | null)[];
  private readonly identities = new Map<Certificate, string>();

  constructor(readonly look: Look) {
    this.certificates = look.certificates.map((text) => {
      const reading = readCertificate(Buffer.from(text, 'base64'));
      return reading.ok ? reading.certificate : null;
    });
  }

  /** Each once. */
  leaves(): readonly PresentedLeaf[] {
    const leaves = new Set<Certificate>();
    for (const { addresses } of this.look.hosts)
      for (const { result } of addresses) {
        const leaf = result.kind === 'presented' ? this.certificates[result.chain[0] ?? -1] : null;
        if (leaf) leaves.add(leaf);
      }
    return [...leaves].map((leaf) => ({
      sha256: leaf.sha256,
      tbsSha256: this.tbsSha256(leaf),
      spkiSha256: leaf.spkiSha256,
      notBefore: leaf.notBefore,
      notAfter: leaf.notAfter,
      dnsNames: leaf.dnsNames,
    }));
  }

  /** Names (DER) of the issuers of all certificates: those among which missing intermediates are. */
  issuerNames(): readonly Uint8Array[] {
    const names = new Map<string, Uint8Array>();
    for (const certificate of this.certificates)
      if (certificate !== null)
        names.set(Buffer.from(certificate.issuer.der).toString('latin1'), certificate.issuer.der);
    return [...names.values()];
  }

  /** Of one of the certificates. */
  tbsSha256(certificate: Certificate): string {
    const known = this.identities.get(certificate);
    if (known !== undefined) return known;
    const { tbsSha256 } = logIdentity(certificate.der);
    this.identities.set(certificate, tbsSha256);
    return tbsSha256;
  }

  /** SHA-256 over the DER of a certificate of the look, readable or not. */
  sha256(index: number): string {
    return (
      this.certificates[index]?.sha256 ??
      sha256Hex(Buffer.from(this.look.certificates[index] ?? '', 'base64'))
    );
  }
}
