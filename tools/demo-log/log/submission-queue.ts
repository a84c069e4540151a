import type { Sct } from './log-keys';
import { identityOf, type SignedEntry } from './stored-entry';

/** Maximum number of submissions in one write. */
const maxBatch = 256;

interface Waiting<S> {
  readonly submission: S;
  readonly resolve: (sct: Sct) => void;
  readonly reject: (error: unknown) => void;
}

/** Queues submissions during a write; they share the next write. */
export class SubmissionQueue<S extends SignedEntry> {
  private readonly waiting: Waiting<S>[] = [];
  /** By identity: a repeated submission gets the same result. */
  private readonly underWay = new Map<string, Promise<Sct>>();
  private writing: Promise<void> | null = null;

  /** @param take writes one batch after another; returns SCTs in the order of the batch */
  constructor(private readonly take: (submissions: readonly S[]) => Promise<readonly Sct[]>) {}

  async submit(submission: S): Promise<Sct> {
    const identity = identityOf(submission.bytes);
    const underWay = this.underWay.get(identity);
    if (underWay !== undefined) return await underWay;
    const promised = new Promise<Sct>((resolve, reject) =>
      this.waiting.push({ submission, resolve, reject }),
    );
    this.underWay.set(identity, promised);
    this.writing ??= this.writeAll();
    try {
      return await promised;
    } finally {
      this.underWay.delete(identity);
    }
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    await this.writing;
  }

  private async writeAll(): Promise<void> {
    // Submissions of one turn of the event loop share a write.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, maxBatch);
      try {
        const scts = await this.take(batch.map(({ submission }) => submission));
        batch.forEach(({ resolve }, nth) => resolve(scts[nth] as Sct));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.writing = null;
  }
}
