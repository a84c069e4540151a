import { decodePem, readCertificate } from '@certwright/pki';
import type { OrderStore } from '../state/order-store';

/** What an installed version is. */
export interface VersionInfo {
  readonly dnsNames: readonly string[];
  readonly keyType: 'rsa' | 'ecdsa' | null;
  readonly spkiSha256: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Read from the folders of versions, and remembered: a version never changes. */
export class VersionInfos {
  private readonly known = new Map<string, VersionInfo>();

  constructor(private readonly orders: OrderStore) {}

  /** @returns null when there is no such version, or its certificate cannot be read */
  of(order: string, sha256: string): VersionInfo | null {
    const key = `${order}/${sha256}`;
    const info = this.known.get(key) ?? this.read(order, sha256);
    if (info !== null) this.known.set(key, info);
    return info;
  }

  private read(order: string, sha256: string): VersionInfo | null {
    try {
      const pem = this.orders.read(order, sha256, 'cert.pem').toString('latin1');
      const decoded = decodePem(pem, 1);
      const der = decoded.ok ? decoded.blocks[0]?.der : undefined;
      const reading = der === undefined ? undefined : readCertificate(der);
      if (reading?.ok !== true) return null;
      const { dnsNames, keyType, spkiSha256, notBefore, notAfter } = reading.certificate;
      return { dnsNames, keyType: keyType ?? null, spkiSha256, notBefore, notAfter };
    } catch {
      return null;
    }
  }
}
