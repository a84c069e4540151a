import { type CompactTree, type TreeState, verifyConsistency } from '@certwright/ct';
import { inSpan } from '@certwright/tracing';
import type { CtLogEntity } from '@certwright/ct-schema';
import type { CtLogs, IngestedBatch, LogLease } from '../logs/ct-logs';
import { entryPages } from '../log-api/entry-pages';
import type { LogApi, VerifiedHead } from '../log-api/log-api';
import { type Evidence, LogRefuses, LogUnavailable, LogUnproven } from '../log-api/log-faults';
import type { Flushes } from '../memory/flushes';
import type { BodyPacker } from '../packing/body-packer';
import { Batch, type Reading } from './batch';
import type { FollowEvents } from './follow-events';

export interface Ingesting {
  readonly logs: Pick<CtLogs, 'ingest'>;
  readonly reading: Reading;
  readonly packer: BodyPacker;
  readonly flushes: Flushes;
  /** Bytes of memory. */
  readonly maxBatch: number;
  readonly events: FollowEvents;
  readonly log: CtLogEntity;
  readonly lease: LogLease;
  readonly api: LogApi;
  /** Tree of all ingested entries; it grows. */
  readonly tree: CompactTree;
  /** Entries are read up to this head; they must hash to a prefix of its tree. */
  readonly head: VerifiedHead;
  readonly parallel: number;
  /** Deadline of reading entries, as `performance.now()`. */
  readonly untilMs: number;
  readonly signal: AbortSignal;
}

/**
 * Reads entries from the end of the tree to the head, and commits them in batches. While a batch is verified, packed and committed, the
 * next one is read. A batch is committed once the log has proved that all entries up to its end are a prefix of the head's tree, so that
 * no search returns entries that the log has not signed. If a log refuses such a proof, its entries are trusted up to the head, which
 * needs no proof. When the log fails, the entries read so far are committed.
 *
 * @throws LogUnproven when entries do not hash to a signed root: their batch is not committed; LogUnavailable, LeaseLost, the
 *   reason of the signal
 */
export async function ingestEntries(ingesting: Ingesting): Promise<void> {
  const commits = new Commits(ingesting);
  const { api, tree, head, parallel, untilMs, signal } = ingesting;
  const pages = entryPages(api, { from: tree.size, to: head.treeSize }, head.treeSize, parallel, signal);
  try {
    for await (const { entries, release } of pages) {
      try {
        for (const entry of entries) {
          const adding = commits.add(entry);
          if (adding !== undefined) await adding;
        }
      } finally {
        release();
      }
      if (performance.now() >= untilMs) break;
    }
  } catch (error) {
    if (error instanceof LogUnavailable) await commits.finishAfter(error);
    else await commits.settled();
    throw error;
  }
  await commits.finish();
}

class Commits {
  private batch: Batch;
  private underWay: Promise<void> = Promise.resolve();
  private isRefused = false;

  constructor(private readonly ingesting: Ingesting) {
    this.batch = this.nextBatch();
  }

  /** Undefined: it was added synchronously. */
  add(entry: Parameters<Batch['add']>[0]): Promise<void> | undefined {
    const adding = this.batch.add(entry);
    if (adding !== undefined) return adding.then(async () => await this.flushFull());
    return this.batch.isFull ? this.flush() : undefined;
  }

  private async flushFull(): Promise<void> {
    if (this.batch.isFull) await this.flush();
  }

  /** @throws the error of any batch */
  async finish(): Promise<void> {
    try {
      await this.flush();
    } catch (error) {
      await this.settled();
      throw error;
    }
    await this.underWay;
  }

  /** The log failed: if the request for a proof fails, too, the first error counts. */
  async finishAfter(failure: LogUnavailable): Promise<void> {
    try {
      await this.finish();
    } catch (error) {
      const isNoResponse = error instanceof LogUnavailable && !(error instanceof LogUnproven);
      throw isNoResponse ? failure : error;
    }
  }

  /** Resolves when no write is pending, whatever the outcome. */
  async settled(): Promise<void> {
    await this.underWay.catch(() => undefined);
  }

  private async flush(): Promise<void> {
    const { batch } = this;
    if (batch.isEmpty) return;
    const { tree, packer, flushes, signal } = this.ingesting;
    const ingested = batch.ingested();
    // While the previous batch is committed, and before a place is taken that other logs could use: the log is requested directly.
    const verified = await this.verified({ size: tree.size, root: tree.root() });
    await flushes.begin(signal);
    const packed = packer.pack(ingested.issuances);
    const before = this.underWay;
    const flushed = async () => {
      try {
        const issuances = await packed;
        await before;
        await this.commit(batch, { ...ingested, issuances, verified });
      } finally {
        flushes.ended();
      }
    };
    this.underWay = flushed();
    // Checked before the next one, or at the end.
    this.underWay.catch(() => undefined);
    this.batch = this.nextBatch();
    await before;
  }

  /** Whether the log signed that its entries hash to this root. */
  private async verified(computed: TreeState): Promise<boolean> {
    const { api, head, signal } = this.ingesting;
    if (computed.size === head.treeSize) {
      if (head.rootHash.equals(computed.root)) return true;
      const evidence: Evidence = { head, kept: null, computed, proof: null };
      throw new LogUnproven('root', anotherRoot(computed.size), evidence);
    }
    if (this.isRefused) return false;
    try {
      const proof = await api.consistencyProof(computed.size, head, signal);
      if (verifyConsistency(computed, { size: head.treeSize, root: head.rootHash }, proof)) return true;
      const entries = `its first ${computed.size} entries, as it serves them,`;
      const evidence: Evidence = { head, kept: null, computed, proof };
      throw new LogUnproven(
        'root',
        `The log does not prove that ${entries} are a part of its tree.`,
        evidence,
      );
    } catch (error) {
      if (!(error instanceof LogRefuses)) throw error;
      this.isRefused = true;
      return false;
    }
  }

  private async commit(batch: Batch, ingested: IngestedBatch): Promise<void> {
    const { logs, log, lease, events, reading } = this.ingesting;
    try {
      const attributes = {
        'certwright.ct_log': log.id,
        'certwright.entries': Number(ingested.to - ingested.from),
      };
      const stored = await inSpan('commit batch', { attributes }, async () => {
        return await logs.ingest(lease, ingested);
      });
      events.ingested(log, batch.outcomes, stored);
    } catch (error) {
      reading.recent.forget();
      throw error;
    }
    if (!ingested.verified) return;
    batch.committed();
    events.verified(log, Number(ingested.to));
  }

  private nextBatch(): Batch {
    const { api, tree, reading, signal, maxBatch } = this.ingesting;
    const fetchIssuer = async (fingerprint: Buffer) => await api.issuer(fingerprint, signal);
    return new Batch(tree, reading, fetchIssuer, maxBatch);
  }
}

/** The root of the entries differs from the root that the log signed for the same size. */
export function anotherRoot(size: number): string {
  return `The entries of the log do not hash to its root of ${size} entries.`;
}
