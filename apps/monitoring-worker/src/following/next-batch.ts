import { type IssuancesToMatch, issuancesToMatch, type PageReader, readingAlone } from '@certwright/ct-index';
import { Injectable } from '@nestjs/common';
import { CtDatabase } from '../ct-database/ct-database.module';
import type { TaskLease } from '../tasks/task-leases';
import type { FollowerCursor } from './follower.repository';
import { indexNow } from './index-place';
import { type Continuation, RestoredIndex } from './restored-index';

/** Max issuances of a batch: about a megabyte, and some milliseconds of matching. */
const batchSize = 2_000;

export interface Batch extends Pick<IssuancesToMatch, 'issuances'> {
  readonly continuation: Continuation;
  /** More issuances may follow at once. */
  readonly isFull: boolean;
  /** After the batch. */
  readonly cursor: FollowerCursor;
}

/** Reads the index in batches, each while the previous one is matched and stored. */
@Injectable()
export class NextBatch {
  private readonly index: PageReader;
  private ahead: { readonly after: string; readonly read: Promise<IssuancesToMatch> } | null = null;
  /** Everything that the index had then is in the next batch, if that is not full. */
  private readableTo: Date | null = null;

  constructor(
    private readonly ct: CtDatabase,
    private readonly restored: RestoredIndex,
  ) {
    this.index = readingAlone(ct.manager);
  }

  /** @param matched maybe ahead of what is stored */
  async read(lease: TaskLease, stored: FollowerCursor, matched: FollowerCursor): Promise<Batch> {
    const { issuances, isCut } = await this.take(matched.position);
    // After the issuances: if the index was restored in between, they follow something else.
    const now = await indexNow(this.ct.manager, matched.position);
    const continuation = await this.restored.check(lease, stored, matched, now);
    const last = issuances.at(-1);
    const isFull = isCut || issuances.length === batchSize;
    if (continuation !== 'go on') {
      this.readableTo = null;
      return { issuances: [], continuation, isFull: false, cursor: matched };
    }
    if (isFull && last !== undefined) this.begin(last.position);
    const followedTo = (isFull ? last?.discoveredAt : this.readableTo) ?? matched.followedTo;
    this.readableTo = now.now;
    const cursor = {
      ...matched,
      ...(last !== undefined && { position: last.position, tbsSha256: last.tbsSha256 }),
      followedTo: followedTo > matched.followedTo ? followedTo : matched.followedTo,
    };
    return { issuances, continuation, isFull, cursor };
  }

  private async take(after: string): Promise<IssuancesToMatch> {
    const { ahead } = this;
    this.ahead = null;
    return ahead?.after === after ? await ahead.read : await issuancesToMatch(this.index, after, batchSize);
  }

  private begin(after: string): void {
    const read = issuancesToMatch(this.index, after, batchSize);
    // Reported by the one that takes it, if any.
    read.catch(() => undefined);
    this.ahead = { after, read };
  }
}
