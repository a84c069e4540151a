import type { FetchedEntry } from './log-api';

/** Thrown into the request for entries: enough entries are collected. */
export class EnoughEntries extends Error {}

/** Thrown into that request: the next entry is longer than usual and needs more memory than the request has. */
export class EntryIsLong extends Error {}

export interface StreamedBounds {
  /** Bytes of entries after which reading stops. */
  readonly maxHeld: number;
  /** Max bytes of an entry as sent; Infinity: no limit below the format's. */
  readonly maxEntry: number;
}

/** Bytes of memory of an entry in addition to its data. */
const overheadBytes = 1_024;

/** Collected entries, and their approximate memory in bytes. */
export class HeldEntries {
  readonly entries: FetchedEntry[] = [];
  bytes = 0;
  private readonly chains = new Set<Buffer>();

  /** @param max number of requested entries @throws EnoughEntries when no more are to come */
  add(fetched: FetchedEntry, max: number, maxHeld: number): void {
    this.entries.push(fetched);
    this.bytes += this.bytesOf(fetched);
    if (this.entries.length >= max || this.bytes >= maxHeld) throw new EnoughEntries();
  }

  private bytesOf(fetched: FetchedEntry): number {
    if (fetched.kind === 'odd') return fetched.leaf.length + overheadBytes;
    const { timestampedEntry, chain, ...entry } = fetched.entry;
    // Entries share known chains.
    const isShared = this.chains.has(chain.bytes);
    this.chains.add(chain.bytes);
    const precertificate = entry.type === 'precertificate' ? entry.precertificateDer.length : 0;
    const bytes = timestampedEntry.length + precertificate + (isShared ? 0 : chain.bytes.length);
    return bytes + overheadBytes;
  }
}
