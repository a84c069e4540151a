/** Octets that one piece of work may take, for as long as it takes them. */
export interface Reservation {
  readonly octets: number;
  /** Gives back what turned out not to be needed. */
  shrinkTo(octets: number): void;
  /** Any number of times. */
  release(): void;
}

interface Waiting {
  readonly octets: number;
  readonly grant: () => void;
}

/**
 * What all followers of a process together may hold of answers. First come, first served: whoever waits holds nothing that
 * somebody before it waits for, as each log asks in the order in which it gives back.
 */
export class MemoryBudget {
  private free: number;
  private readonly waiting: Waiting[] = [];

  constructor(readonly octets: number) {
    this.free = octets;
  }

  /** More than there is at all is as much as there is. @throws the reason of the signal */
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
