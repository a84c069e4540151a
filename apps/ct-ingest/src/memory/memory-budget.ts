/** A reservation of bytes for one piece of work. */
export interface Reservation {
  readonly bytes: number;
  /** Returns the part that is not needed. */
  shrinkTo(bytes: number): void;
  /** Idempotent. */
  release(): void;
}

interface Waiting {
  readonly bytes: number;
  readonly grant: () => void;
}

/**
 * Memory for the responses of all followers of a process. First come, first served: a waiting follower holds nothing that an earlier
 * one waits for, as each log reserves in the order in which it releases.
 */
export class MemoryBudget {
  private free: number;
  private readonly waiting: Waiting[] = [];

  constructor(readonly bytes: number) {
    this.free = bytes;
  }

  /** A larger size than the whole budget reserves the whole budget. @throws the reason of the signal */
  async reserve(bytes: number, signal: AbortSignal): Promise<Reservation> {
    signal.throwIfAborted();
    const wanted = Math.min(bytes, this.bytes);
    if (this.waiting.length === 0 && this.free >= wanted) {
      this.free -= wanted;
      return this.reservation(wanted);
    }
    return await new Promise((resolve, reject) => {
      const abandon = () => {
        this.waiting.splice(this.waiting.indexOf(entry), 1);
        reject(signal.reason);
        this.serve();
      };
      const entry: Waiting = {
        bytes: wanted,
        grant: () => {
          signal.removeEventListener('abort', abandon);
          resolve(this.reservation(wanted));
        },
      };
      signal.addEventListener('abort', abandon, { once: true });
      this.waiting.push(entry);
    });
  }

  private reservation(bytes: number): Reservation {
    let held = bytes;
    const shrinkTo = (wanted: number) => {
      if (wanted >= held) return;
      this.free += held - wanted;
      held = wanted;
      this.serve();
    };
    return {
      get bytes() {
        return held;
      },
      shrinkTo,
      release: () => shrinkTo(0),
    };
  }

  private serve(): void {
    for (let next = this.waiting[0]; next !== undefined && next.bytes <= this.free; next = this.waiting[0]) {
      this.waiting.shift();
      this.free -= next.bytes;
      next.grant();
    }
  }
}
