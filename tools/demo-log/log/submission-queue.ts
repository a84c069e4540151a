import type { Sct } from './log-keys';
import { identityOf, type SignedEntry } from './stored-entry';

/** Submissions that one write takes in. */
const mostAtOnce = 256;

interface Waiting<S> {
  readonly submission: S;
  readonly resolve: (sct: Sct) => void;
  readonly reject: (error: unknown) => void;
}

/** Submissions that wait for the disk: those that come while it is busy share the next write. */
export class SubmissionQueue<S extends SignedEntry> {
  private readonly waiting: Waiting<S>[] = [];
  /** By identity: a second one of the same gets the same answer. */
  private readonly underWay = new Map<string, Promise<Sct>>();
  private writing: Promise<void> | null = null;

  /** @param take writes them, one batch after another; the promises in their order */
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

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.writing;
  }

  private async writeAll(): Promise<void> {
    // All that come in this turn of the event loop share a write.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, mostAtOnce);
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
