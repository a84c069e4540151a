import { leafHash } from '@certwright/ct';
import type { FoundRecord } from './log-file';
import { decodeRecord, identityOf, merkleTreeLeaf, partsOf, type StoredEntry } from './stored-entry';
import { LogFileFault } from './log-file';
import { TileHashes } from './tile-hashes';

export interface EntryPlace {
  /** Of its record's body in the file. */
  readonly at: number;
  readonly length: number;
}

/** In-memory index of the entries in the file. */
export class EntryIndex {
  readonly tree = new TileHashes();
  /** Of the newest entry, milliseconds since the epoch. */
  newest = 0;
  private readonly places: EntryPlace[] = [];
  private readonly byIdentity = new Map<string, number>();
  private readonly byLeafHash = new Map<string, number>();
  /** DER by SHA-256, hexadecimal. */
  private readonly issuers = new Map<string, Buffer>();

  get size(): number {
    return this.places.length;
  }

  /** Indexes a record of the file. @throws LogFileFault for a complete record that this program has not written */
  replay({ at, body }: FoundRecord): void {
    const record = decodeRecord(body);
    if (record === null) throw new LogFileFault(`The record at ${at} is not a record of a demo log.`);
    if (record.kind === 'issuer') this.addIssuer(record.der);
    else this.addEntry(record.entry, { at, length: body.length });
  }

  addIssuer(der: Buffer, fingerprint: string = identityHex(der)): void {
    this.issuers.set(fingerprint, Buffer.from(der));
  }

  addEntry(entry: StoredEntry, place: EntryPlace): void {
    const { timestamp, signed } = partsOf(entry.timestampedEntry);
    const hash = leafHash(merkleTreeLeaf(entry));
    this.byIdentity.set(identityOf(signed), this.size);
    this.byLeafHash.set(hash.toString('latin1'), this.size);
    this.places.push(place);
    this.tree.append(hash);
    this.newest = Math.max(this.newest, timestamp);
  }

  indexOfIdentity(identity: string): number | undefined {
    return this.byIdentity.get(identity);
  }

  indexOfLeaf(hash: Buffer): number | undefined {
    return this.byLeafHash.get(hash.toString('latin1'));
  }

  /** @param fingerprint SHA-256 over the certificate, hexadecimal */
  issuer(fingerprint: string): Buffer | undefined {
    return this.issuers.get(fingerprint);
  }

  placeOf(index: number): EntryPlace {
    const place = this.places[index];
    if (place === undefined) throw new RangeError(`there is no entry ${index}`);
    return place;
  }
}

function identityHex(der: Buffer): string {
  return Buffer.from(identityOf(der), 'latin1').toString('hex');
}
