import { readCertificate } from '@certwright/pki';

/** Name and key of a CA. Certificates of one CA by several issuers share both, so neither issuer nor expiry matters. */
export interface CaKey {
  /** DER of the Name. */
  readonly nameDer: Uint8Array;
  /** DER of the SubjectPublicKeyInfo. */
  readonly spkiDer: Uint8Array;
}

/** CAs by name. */
export class CaKeys {
  private readonly keys = new Map<string, Uint8Array[]>();

  constructor(keys: Iterable<CaKey> = []) {
    for (const { nameDer, spkiDer } of keys) {
      const name = textOf(nameDer);
      const others = this.keys.get(name) ?? [];
      if (!others.some((other) => Buffer.compare(other, spkiDer) === 0)) others.push(spkiDer);
      this.keys.set(name, others);
    }
  }

  /** @param certificates DER; those that cannot be read are left out */
  static ofCertificates(certificates: Iterable<Uint8Array>): CaKeys {
    const keys: CaKey[] = [];
    for (const der of certificates) {
      const reading = readCertificate(der);
      if (reading.ok)
        keys.push({ nameDer: reading.certificate.subject.der, spkiDer: reading.certificate.spkiDer });
    }
    return new CaKeys(keys);
  }

  /** DER of the SubjectPublicKeyInfo of each CA with this name. */
  named(nameDer: Uint8Array): readonly Uint8Array[] {
    return this.keys.get(textOf(nameDer)) ?? [];
  }

  has({ nameDer, spkiDer }: CaKey): boolean {
    return this.named(nameDer).some((each) => Buffer.compare(each, spkiDer) === 0);
  }
}

const textOf = (der: Uint8Array): string => Buffer.from(der).toString('latin1');
