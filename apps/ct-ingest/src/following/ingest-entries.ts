import type { CompactTree } from '@certwright/ct';
import type { CtLogEntity, CtLogs, IngestedBatch, LogLease } from '@certwright/ct-persistence';
import { entryPages } from '../log-api/entry-pages';
import type { LogApi } from '../log-api/log-api';
import { LogMisbehaves, LogUnavailable } from '../log-api/log-faults';
import type { Flushes } from '../memory/flushes';
import type { BodyPacker } from '../packing/body-packer';
import { Batch, type Reading } from './batch';
import type { FollowEvents } from './follow-events';
import type { Head } from './judge-head';

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
  /** Of all entries that are ingested; it grows. */
  readonly tree: CompactTree;
  /** Up to which entries are read; its root is what they must hash to. */
  readonly head: Head;
  readonly parallel: number;
  /** Entries are read until then, by `performance.now()`. */
  readonly untilMs: number;
  readonly signal: AbortSignal;
}

/**
 * Reads entries from where the tree ends to the head, and commits them batch by batch; while one is packed and committed the next
 * one is read.
 * What has been read when the log fails is committed all the same.
 *
 * @throws LogMisbehaves when all of them do not hash to the head's root: the last batch is not committed then; LogUnavailable,
 *   LogLeaseLost, the reason of the signal
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
    if (error instanceof LogUnavailable) await commits.finish();
    else await commits.settled();
    throw error;
  }
  await commits.finish();
}

class Commits {
  private batch: Batch;
  private underWay: Promise<void> = Promise.resolve();

  constructor(private readonly ingesting: Ingesting) {
    this.batch = this.nextBatch();
  }

  /** Undefined: it was added at once. */
  add(entry: Parameters<Batch['add']>[0]): Promise<void> | undefined {
    const adding = this.batch.add(entry);
    if (adding !== undefined) return adding.then(async () => await this.flushFull());
    return this.batch.isFull ? this.flush() : undefined;
  }

  private async flushFull(): Promise<void> {
    if (this.batch.isFull) await this.flush();
  }

  /** @throws what went wrong with any batch */
  async finish(): Promise<void> {
    await this.flush();
    await this.underWay;
  }

  /** Nothing is being written any more, however that ended. */
  async settled(): Promise<void> {
    await this.underWay.catch(() => undefined);
  }

  private async flush(): Promise<void> {
    const { batch } = this;
    if (batch.isEmpty) return;
    const { tree, head, packer, flushes, signal } = this.ingesting;
    const verified = tree.size === head.treeSize;
    if (verified && !tree.root().equals(head.rootHash))
      throw new LogMisbehaves(
        'root',
        `The entries of the log do not hash to its root of ${tree.size} entries.`,
      );
    const ingested = batch.ingested(verified);
    await flushes.begin(signal);
    // Packed while the one before it is committed.
    const packed = packer.pack(ingested.issuances);
    const before = this.underWay;
    const flushed = async () => {
      try {
        const issuances = await packed;
        await before;
        await this.commit(batch, { ...ingested, issuances });
      } finally {
        flushes.ended();
      }
    };
    this.underWay = flushed();
    // Looked at before the next one, or at the end.
    this.underWay.catch(() => undefined);
    this.batch = this.nextBatch();
    await before;
  }

  private async commit(batch: Batch, ingested: IngestedBatch): Promise<void> {
    const { logs, log, lease, events, reading } = this.ingesting;
    try {
      events.ingested(log, batch.outcomes, await logs.ingest(lease, ingested));
    } catch (error) {
      reading.recent.forget();
      throw error;
    }
    batch.committed();
    if (ingested.verified) events.verified(log, Number(ingested.to));
  }

  private nextBatch(): Batch {
    const { api, tree, reading, signal, maxBatch } = this.ingesting;
    const fetchIssuer = async (fingerprint: Buffer) => await api.issuer(fingerprint, signal);
    return new Batch(tree, reading, fetchIssuer, maxBatch);
  }
}
