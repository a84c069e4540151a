import type { Revocation } from '../revocations/revocation-facts';
import type { StoredIssuance } from './issuance-pages';

const hashOctets = 32;
/** 2000-01-01, from which timestamps of PostgreSQL count, ms. */
const epochMs = 946_684_800_000;
/** In the binary form of an array: how many dimensions; NULLs; type; and of the one dimension: how many, from which number on. */
const arrayHead = { empty: 12, one: 20 };

/** Issuances in the order of discovery. */
export interface IssuancePage {
  readonly issuances: readonly StoredIssuance[];
  /** It has fewer than were asked for since they are too long: more may follow behind its last one. Never without one. */
  readonly isCut: boolean;
}

/**
 * Reads what `ct_pack_issuances` and `ct_pack_stream` write: whether that is all, then issuance after issuance: position; SHA-256 of TBS, certificate, key;
 * whether it is a precertificate; issuer; revocation list or 0; three times; whether it is revoked, and if it is when, why, and when
 * that was last said; length of the serial, serial; names as an array of texts.
 */
export function unpackIssuances(packed: Buffer | null): IssuancePage {
  if (packed === null) return { issuances: [], isCut: false };
  const reader = new PackedReader(packed);
  const isCut = !reader.boolean();
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
      revocation: reader.boolean() ? reader.revocation() : null,
      serial: reader.octets(reader.integer()),
      dnsNames: reader.texts(),
    });
  }
  return { issuances, isCut };
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

  revocation(): Revocation {
    const revokedAt = this.timestamp();
    this.at += 2;
    return { revokedAt, reason: this.packed.readInt16BE(this.at - 2), checkedAt: this.timestamp() };
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
