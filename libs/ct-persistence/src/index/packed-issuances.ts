import type { StoredIssuance } from './issuance-pages';

const hashOctets = 32;
/** 2000-01-01, from which timestamps of PostgreSQL count, ms. */
const epochMs = 946_684_800_000;
/** In the binary form of an array: how many dimensions; NULLs; type; and of the one dimension: how many, from which number on. */
const arrayHead = { empty: 12, one: 20 };

/**
 * Reads what `ct_pack_issuances` writes, issuance after issuance: position; SHA-256 of TBS, certificate, key; whether it is a
 * precertificate; issuer; revocation list or 0; three times; length of the serial, serial; names as an array of texts.
 */
export function unpackIssuances(packed: Buffer): StoredIssuance[] {
  const reader = new PackedReader(packed);
  const issuances: StoredIssuance[] = [];
  while (!reader.isDone) {
    issuances.push({
      position: String(reader.bigint()),
      tbsSha256: reader.octets(hashOctets),
      certSha256: reader.octets(hashOctets),
      spkiSha256: reader.octets(hashOctets),
      precertificate: reader.boolean(),
      issuer: reader.integer(),
      crl: reader.integer() || null,
      notBefore: reader.timestamp(),
      notAfter: reader.timestamp(),
      discoveredAt: reader.timestamp(),
      serial: reader.octets(reader.integer()),
      dnsNames: reader.texts(),
      body: null,
    });
  }
  return issuances;
}

class PackedReader {
  private at = 0;

  constructor(private readonly packed: Buffer) {}

  get isDone(): boolean {
    return this.at >= this.packed.length;
  }

  /** Of 53 bits. */
  bigint(): number {
    return this.integer() * 2 ** 32 + this.unsigned();
  }

  /** Microseconds, more than 53 bits for late years: divided by halves. */
  timestamp(): Date {
    const upper = this.integer();
    const lower = this.unsigned();
    const upperMs = Math.floor(upper / 1_000);
    const restMs = Math.floor(((upper - upperMs * 1_000) * 2 ** 32 + lower) / 1_000);
    return new Date(epochMs + upperMs * 2 ** 32 + restMs);
  }

  integer(): number {
    this.at += 4;
    return this.packed.readInt32BE(this.at - 4);
  }

  boolean(): boolean {
    return this.packed[this.at++] === 1;
  }

  octets(length: number): Buffer {
    this.at += length;
    return this.packed.subarray(this.at - length, this.at);
  }

  texts(): string[] {
    const begin = this.at;
    const dimensions = this.integer();
    if (dimensions === 0) {
      this.at = begin + arrayHead.empty;
      return [];
    }
    this.at = begin + arrayHead.empty;
    const count = this.integer();
    this.at = begin + arrayHead.one;
    return Array.from({ length: count }, () => {
      const length = this.integer();
      this.at += length;
      return this.packed.toString('utf8', this.at - length, this.at);
    });
  }

  private unsigned(): number {
    this.at += 4;
    return this.packed.readUInt32BE(this.at - 4);
  }
}
