import { Worker } from 'node:worker_threads';
import { bodyDeflation } from '@certwright/ct-index';
import { packingText, type Pieces } from './thread-text';

/** Jobs per thread: one in progress and one queued, so that the thread never waits for this process, which may be busy reading. */
const maxJobs = 2;

/** Many times the memory that a thread needs, MiB. */
const memory = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 8 };

/** Certificates, and the callback for their bodies: empty for one that packing does not shorten. */
export interface Job {
  readonly ders: readonly Buffer[];
  readonly done: (bodies: readonly Buffer[]) => void;
}

export interface ThreadEvents {
  /** Called when there is room for a job. */
  ready(): void;
  /** Called with the unfinished jobs when the thread has ended. @param error null: it was closed */
  ended(error: unknown, unfinished: readonly Job[]): void;
}

/** A thread that packs certificates. */
export class PackingThread {
  private readonly jobs: Job[] = [];
  private readonly worker: Worker;

  /** @throws Error when the system cannot start a thread */
  constructor(events: ThreadEvents) {
    this.worker = new Worker(packingText, {
      ...{ eval: true, workerData: bodyDeflation, resourceLimits: memory },
      // The thread needs nothing of the process's environment.
      ...{ env: {}, execArgv: [], argv: [] },
    });
    let fault: unknown = null;
    this.worker.on('error', (error) => (fault = error));
    this.worker.on('exit', (code) =>
      events.ended(fault ?? new Error(`a thread ended by itself, with ${code}`), this.jobs.splice(0)),
    );
    this.worker.on('message', (packed: Pieces) => {
      this.jobs.shift()?.done(parted(packed));
      events.ready();
    });
  }

  get hasRoom(): boolean {
    return this.jobs.length < maxJobs;
  }

  get isBusy(): boolean {
    return this.jobs.length > 0;
  }

  take(job: Job): void {
    const { bytes, ends } = joined(job.ders);
    this.jobs.push(job);
    this.worker.postMessage({ bytes, ends }, [bytes.buffer, ends.buffer]);
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}

function joined(pieces: readonly Buffer[]): Pieces {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  const ends = new Uint32Array(pieces.length);
  let at = 0;
  pieces.forEach((piece, nth) => {
    bytes.set(piece, at);
    ends[nth] = at += piece.length;
  });
  return { bytes, ends };
}

function parted({ bytes, ends }: Pieces): Buffer[] {
  let start = 0;
  return Array.from(ends, (end) => {
    const piece = Buffer.from(bytes.buffer, start, end - start);
    start = end;
    return piece;
  });
}
