/** A reservation of bytes for one piece of work. */
export interface Reservation {
  readonly octets: number;
  /** Returns the part that is not needed. */
  shrinkTo(octets: number): void;
  /** Idempotent. */
  release(): void;
}

interface Waiting {
  readonly octets: number;
  readonly grant: () => void;
}

/**
 * Memory for the responses of all followers of a process. First come, first served: a waiting follower holds nothing that an earlier
 * one waits for, as each log reserves in the order in which it releases.
 */
export class MemoryBudget {
  private free: number;
  private readonly waiting: Waiting[] = [];

  constructor(readonly octets: number) {
    this.free = octets;
  }

  /** A larger size than the whole budget reserves the whole budget. @throws the reason of the signal */
  async reserve(octets: number, signal: AbortSignal): Promise<Reservation> {
    signal.throwIfAborted();
    const wanted = Math.min(octets, this.octets);
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
        octets: wanted,
        grant: () => {
          signal.removeEventListener('abort', abandon);
          resolve(this.reservation(wanted));
        },
      };
      signal.addEventListener('abort', abandon, { once: true });
      this.waiting.push(entry);
    });
  }

  private reservation(octets: number): Reservation {
    let held = octets;
    const shrinkTo = (wanted: number) => {
      if (wanted >= held) return;
      this.free += held - wanted;
      held = wanted;
      this.serve();
    };
    return {
      get octets() {
        return held;
      },
      shrinkTo,
      release: () => shrinkTo(0),
    };
  }

  private serve(): void {
    for (let next = this.waiting[0]; next !== undefined && next.octets <= this.free; next = this.waiting[0]) {
      this.waiting.shift();
      this.free -= next.octets;
      next.grant();
    }
  }
}
