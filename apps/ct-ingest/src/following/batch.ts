import { type CompactTree, type Issued, readEntry, tbsSha256 } from '@certwright/ct';
import type { IngestedBatch, OddEntry } from '../logs/ct-logs';
import type { NewIssuance, NewIssuer } from '@certwright/ct-index';
import type { FetchedEntry } from '../log-api/log-api';
import type { IndexedScope } from '../reading/indexed-scope';
import { type FetchIssuer, type Issuers, bytesOf } from '../reading/issuers';
import { newIssuance } from '../reading/new-issuance';
import type { RecentIssuances } from '../reading/recent-issuances';

/** State of an entry before it is written to the database. */
export type EntryOutcome = 'stored' | 'known' | 'expired' | 'elsewhere' | 'odd';

/** A batch is committed at this many entries, bytes to store or rows of the name index, or earlier when its memory is full. */
const maxEntries = 2_048;
const maxStoredBytes = 3 * 1_048_576;
const maxNameKeys = 30_000;

/** Bytes of memory of an issuance in addition to its DER, and of a key of a name. */
const weights = { issuance: 2_048, nameKey: 128 } as const;

/** Certificates that expired longer ago than this are not indexed, ms. */
const expiredAfterMs = 86_400_000;

export interface Reading {
  readonly issuers: Issuers;
  readonly recent: RecentIssuances;
  readonly scope: IndexedScope;
  readonly now: () => number;
}

/** Consecutive entries of one log that are to be stored. */
export class Batch {
  readonly outcomes: Record<EntryOutcome, number> = { stored: 0, known: 0, expired: 0, elsewhere: 0, odd: 0 };
  private readonly issuances = new Map<string, NewIssuance>();
  private readonly issuersHeld = new Set<NewIssuance['issuer']>();
  private readonly odd: OddEntry[] = [];
  private readonly from: number;
  private storedBytes = 0;
  private nameKeys = 0;
  private entryAt: Date | null = null;

  /**
   * @param tree of all entries before the batch; grows with each added entry
   * @param maxBytes of memory
   */
  constructor(
    private readonly tree: CompactTree,
    private readonly reading: Reading,
    private readonly fetchIssuer: FetchIssuer,
    private readonly maxBytes = Infinity,
  ) {
    this.from = tree.size;
  }

  get isEmpty(): boolean {
    return this.tree.size === this.from;
  }

  get isFull(): boolean {
    const entries = this.tree.size - this.from;
    const isLong =
      entries >= maxEntries || this.storedBytes >= maxStoredBytes || this.nameKeys >= maxNameKeys;
    return isLong || this.bytes >= this.maxBytes;
  }

  /** Approximate memory use. */
  private get bytes(): number {
    return this.storedBytes + this.issuances.size * weights.issuance + this.nameKeys * weights.nameKey;
  }

  /** Mostly synchronous: a promise per entry costs a tenth of the time to read one. */
  add(fetched: FetchedEntry): Promise<void> | undefined {
    const outcome = fetched.kind === 'odd' ? this.addOdd(fetched) : this.addRead(fetched);
    if (outcome instanceof Promise) return outcome.then((later) => this.added(fetched, later));
    this.added(fetched, outcome);
    return undefined;
  }

  /** For the database; the bodies are not yet packed. */
  ingested(): Omit<IngestedBatch, 'verified'> {
    return {
      from: BigInt(this.from),
      to: BigInt(this.tree.size),
      issuances: [...this.issuances.values()],
      odd: this.odd,
      treeState: this.tree.serialize(),
      entryAt: this.entryAt,
    };
  }

  /** Marks these issuances as known. */
  committed(): void {
    for (const [tbs, { precertificate }] of this.issuances)
      this.reading.recent.committed(tbs, precertificate);
  }

  private addOdd({ fault, leaf, leafBytes }: Omit<OddEntry, 'index'>): EntryOutcome {
    const index = BigInt(this.tree.size);
    this.odd.push({ index, fault, leaf, leafBytes: leafBytes ?? leaf.length });
    this.storedBytes += leaf.length;
    return 'odd';
  }

  private added({ leafHash }: FetchedEntry, outcome: EntryOutcome): void {
    this.outcomes[outcome] += 1;
    this.tree.append(leafHash);
  }

  private addRead({ entry }: Extract<FetchedEntry, { kind: 'read' }>): EntryOutcome | Promise<EntryOutcome> {
    this.entryAt = timeOf(entry.timestamp);
    const issued = readEntry(entry);
    if (issued.layout === null) {
      const leaf = Buffer.concat([Buffer.from([0, 0]), entry.timestampedEntry]);
      return this.addOdd({ fault: 'no_tbs', leaf, leafBytes: leaf.length });
    }
    const { now, scope, recent, issuers } = this.reading;
    if (issued.notAfter !== null && issued.notAfter < now() - expiredAfterMs) return 'expired';
    if (!scope.covers(issued.dnsNames, issued.oddNames)) return 'elsewhere';
    const tbs = tbsSha256(issued);
    const isPrecertificate = entry.type === 'precertificate';
    if (recent.has(tbs, isPrecertificate) || this.holds(tbs, isPrecertificate)) return 'known';
    const issuer = issuers.of(entry, issued, this.fetchIssuer);
    const add = (issuance: NewIssuance) => this.addIssuance(tbs, issuance, issued);
    const store = (by: NewIssuer) => {
      const issuance = newIssuance(entry, issued, tbs, by);
      return issuance instanceof Promise ? issuance.then(add) : add(issuance);
    };
    return issuer instanceof Promise ? issuer.then(store) : store(issuer);
  }

  /** In one batch, the certificate replaces its precertificate. */
  private holds(tbs: string, isPrecertificate: boolean): boolean {
    const held = this.issuances.get(tbs);
    return held !== undefined && (isPrecertificate || !held.precertificate);
  }

  private addIssuance(tbs: string, issuance: NewIssuance, { dnsNames, oddNames }: Issued): EntryOutcome {
    const held = this.issuances.get(tbs);
    const { precertificate, certSha256, body } = issuance;
    // As in the database, the rest is that of the precertificate: its leaf has the key of the issuer, which the log may lack.
    this.issuances.set(tbs, held === undefined ? issuance : { ...held, precertificate, certSha256, body });
    this.nameKeys += issuance.nameKeys.length;
    for (const name of dnsNames) this.storedBytes += name.length;
    for (const name of oddNames) this.storedBytes += name.length;
    this.storedBytes += issuance.body.length;
    if (!this.issuersHeld.has(issuance.issuer)) {
      this.issuersHeld.add(issuance.issuer);
      this.storedBytes += bytesOf(issuance.issuer);
    }
    return 'stored';
  }
}

/** Null for a date that cannot be stored: no log's clock has returned it. */
function timeOf(ms: number): Date | null {
  return ms < 253_402_300_800_000 ? new Date(ms) : null;
}
