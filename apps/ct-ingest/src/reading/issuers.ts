import { hash } from 'node:crypto';
import { chainCertificates, chainFingerprints, type Issued, type LogEntry, readIssued } from '@certwright/ct';
import type { NewIssuer } from '@certwright/ct-index';
import { sha256 } from '@certwright/pki';

/** Looks up certificates of a chain by digest; null: unavailable. */
export type FetchIssuer = (fingerprint: Buffer) => Promise<Buffer | null>;

/** Max cached issuers, and certificates of issuers: all public CAs together have some thousand. */
const maxKept = 5_000;

/** Max bytes of each cache: CA certificates have one or two kB, but a log may contain any size. */
const maxKeptBytes = 16 * 1_048_576;

/** Max names per key. */
const maxNames = 16;

/** Rest before a certificate that a log did not have is requested again, ms: logs may publish it later than its entries. */
const missingRestMs = 10 * 60_000;

/** The issuer of a self-issued root, or of a certificate without a chain in the log, cannot be identified by a key. */
const unknownKey = Buffer.alloc(32);
const emptyName = Buffer.from('3000', 'hex');

interface CaCertificate {
  readonly der: Buffer;
  readonly spkiDer: Buffer;
  readonly spkiSha256: Buffer;
}

/** A log did not have the certificate. */
interface Missing {
  /** It is not requested again before, ms of `nowMs`. */
  readonly untilMs: number;
}

/** The issuers in a process's logs: few, and often the same ones. */
export class Issuers {
  /** By key, or certificate. */
  private readonly issuers = new Kept<readonly NewIssuer[]>((issuers) =>
    issuers.reduce((sum, issuer) => sum + bytesOf(issuer), 0),
  );
  private readonly certificates = new Kept<CaCertificate | Missing>((certificate) =>
    isMissing(certificate) ? 0 : certificate.der.length + certificate.spkiDer.length,
  );

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** The issuer of an entry's certificate; usually known synchronously. */
  of(entry: LogEntry, issued: Issued, fetch: FetchIssuer): NewIssuer | Promise<NewIssuer> {
    const name = issued.issuerDer ?? emptyName;
    const key = issuerKey(entry, issued);
    const known = this.issuers.get(key)?.find(({ nameDer }) => nameDer.equals(name));
    if (known !== undefined && (known.certificateDer !== null || !this.mayHaveCertificate(entry)))
      return known;
    return this.find(entry, issued, { name, key, known }, fetch);
  }

  /** Whether the chain may have the certificate of an issuer that is known without one. */
  private mayHaveCertificate(entry: LogEntry): boolean {
    if (entry.chain.of === 'certificates') return entry.chain.bytes.length > 0;
    return candidates(chainFingerprints(entry)).some((fingerprint) => {
      const known = this.certificates.get(fingerprint.toString('latin1'));
      return known === undefined || !isMissing(known) || known.untilMs <= this.nowMs();
    });
  }

  private async find(
    entry: LogEntry,
    issued: Issued,
    { name, key, known }: { name: Buffer; key: string; known: NewIssuer | undefined },
    fetch: FetchIssuer,
  ): Promise<NewIssuer> {
    const keyHash = entry.type === 'precertificate' ? entry.issuerKeyHash : null;
    const found = (await this.inChain(entry, keyHash, fetch)) ?? ownIssuer(entry, issued);
    if (found === null && known !== undefined) return known;
    // Copies: entries are views of whole responses.
    const issuer: NewIssuer = {
      spkiSha256: Buffer.from(keyHash ?? found?.spkiSha256 ?? unknownKey),
      nameDer: Buffer.from(name),
      certificateDer: found?.der ?? null,
      spkiDer: found?.spkiDer ?? null,
    };
    const others = (this.issuers.get(key) ?? []).filter(({ nameDer }) => !nameDer.equals(name));
    this.issuers.set(key, [issuer, ...others].slice(0, maxNames));
    return issuer;
  }

  /** The first of a chain; for a precertificate the one with the key, as a precertificate signing certificate may precede it. */
  private async inChain(
    entry: LogEntry,
    keyHash: Buffer | null,
    fetch: FetchIssuer,
  ): Promise<CaCertificate | null> {
    const reads =
      entry.chain.of === 'certificates'
        ? candidates(chainCertificates(entry)).map((der) => () => caCertificate(der))
        : candidates(chainFingerprints(entry)).map(
            (fingerprint) => async () => await this.fetched(fingerprint, fetch),
          );
    for (const read of reads) {
      const certificate = await read();
      if (keyHash === null) return certificate;
      if (certificate?.spkiSha256.equals(keyHash) === true) return certificate;
    }
    return null;
  }

  private async fetched(fingerprint: Buffer, fetch: FetchIssuer): Promise<CaCertificate | null> {
    const key = fingerprint.toString('latin1');
    const known = this.certificates.get(key);
    if (known !== undefined && !isMissing(known)) return known;
    if (known !== undefined && known.untilMs > this.nowMs()) return null;
    const der = await fetch(fingerprint);
    const isIt = der !== null && sha256(der).equals(fingerprint);
    const certificate = isIt ? caCertificate(der) : null;
    this.certificates.set(key, certificate ?? { untilMs: this.nowMs() + missingRestMs });
    return certificate;
  }
}

function isMissing(certificate: CaCertificate | Missing): certificate is Missing {
  return 'untilMs' in certificate;
}

/** The first of a chain, and the one after a precertificate signing certificate. */
function candidates<T>(chain: readonly T[]): readonly T[] {
  return chain.slice(0, 2);
}

/** Approximate memory use. */
export function bytesOf({ nameDer, certificateDer, spkiDer }: NewIssuer): number {
  return nameDer.length + (certificateDer?.length ?? 0) + (spkiDer?.length ?? 0);
}

function issuerKey(entry: LogEntry, issued: Issued): string {
  if (entry.type === 'precertificate') return entry.issuerKeyHash.toString('latin1');
  const first =
    entry.chain.of === 'fingerprints' && entry.chain.bytes.length > 0
      ? entry.chain.bytes.subarray(0, 32)
      : (chainCertificates(entry)[0] ?? (isSelfIssued(issued) ? (issued.spkiDer ?? emptyName) : emptyName));
  return hash('sha256', first, 'base64');
}

/** A root that is itself a log entry is its own issuer. */
function ownIssuer(entry: LogEntry, issued: Issued): CaCertificate | null {
  return entry.type === 'certificate' && entry.chain.bytes.length === 0 && isSelfIssued(issued)
    ? caCertificate(entry.certificateDer)
    : null;
}

function isSelfIssued({ issuerDer, subjectDer }: Issued): boolean {
  return issuerDer !== null && subjectDer !== null && issuerDer.equals(subjectDer);
}

function caCertificate(der: Buffer): CaCertificate | null {
  const { spkiDer } = readIssued(der, 'certificate');
  if (spkiDer === null) return null;
  return { der: Buffer.from(der), spkiDer: Buffer.from(spkiDer), spkiSha256: sha256(spkiDer) };
}

/** Evicts the oldest when the count or the size exceeds its limit. */
class Kept<T> {
  private readonly values = new Map<string, { readonly value: T; readonly bytes: number }>();
  private bytes = 0;

  constructor(private readonly bytesOf: (value: T) => number) {}

  get(key: string): T | undefined {
    return this.values.get(key)?.value;
  }

  set(key: string, value: T): void {
    this.drop(key);
    const bytes = this.bytesOf(value);
    this.values.set(key, { value, bytes });
    this.bytes += bytes;
    for (const [oldest] of this.values) {
      if (this.values.size <= maxKept && this.bytes <= maxKeptBytes) return;
      this.drop(oldest);
    }
  }

  private drop(key: string): void {
    this.bytes -= this.values.get(key)?.bytes ?? 0;
    this.values.delete(key);
  }
}
