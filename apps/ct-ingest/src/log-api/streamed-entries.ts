import type { FetchedEntry } from './log-api';

/** Thrown into the request that brings entries: enough of them are held. */
export class EnoughEntries extends Error {}

/** Thrown into that request: the next entry is longer than usual and needs more memory than its request has. */
export class EntryIsLong extends Error {}

export interface StreamedBounds {
  /** Bytes of entries after which no more are read. */
  readonly maxHeld: number;
  /** Bytes of an entry as it is sent; Infinity: as long as an entry can be. */
  readonly maxEntry: number;
}

/** Bytes of memory that an entry takes beside its octets. */
const besideOctets = 1_024;

/** Entries that are held, and how many bytes of memory they take, about. */
export class HeldEntries {
  readonly entries: FetchedEntry[] = [];
  bytes = 0;
  private readonly chains = new Set<Buffer>();

  /** @param max how many were asked for @throws EnoughEntries when no more are to come */
  add(fetched: FetchedEntry, max: number, maxHeld: number): void {
    this.entries.push(fetched);
    this.bytes += this.bytesOf(fetched);
    if (this.entries.length >= max || this.bytes >= maxHeld) throw new EnoughEntries();
  }

  private bytesOf(fetched: FetchedEntry): number {
    if (fetched.kind === 'odd') return fetched.leaf.length + besideOctets;
    const { timestampedEntry, chain, ...entry } = fetched.entry;
    // Entries share the chains that are known.
    const isShared = this.chains.has(chain.bytes);
    this.chains.add(chain.bytes);
    const precertificate = entry.type === 'precertificate' ? entry.precertificateDer.length : 0;
    const octets = timestampedEntry.length + precertificate + (isShared ? 0 : chain.bytes.length);
    return octets + besideOctets;
  }
}
