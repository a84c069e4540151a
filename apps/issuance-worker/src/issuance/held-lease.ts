import type { Lease } from '@certwright/core-schema';
import type { LeasedIssuances } from '@certwright/ordering';

/** Longer than a round of DNS look-ups; a slower CA gets a longer lease, so that it is lost only by accident. */
export const leaseMs = 15_000;

/** A lease that is extended gets this much more than requested, ms; a crash delays the issuance by as much. */
const spareMs = 15_000;

/** The lease of a run, and its end by our own monotonic clock, which also advances while the process is frozen. */
export class HeldLease {
  private endsMs: number;

  /** @param forMs duration of the new lease */
  constructor(
    private readonly issuances: Pick<LeasedIssuances, 'save'>,
    readonly lease: Lease,
    forMs: number,
  ) {
    this.endsMs = performance.now() + forMs;
  }

  /** Extends the lease when less than this is left of it, ms. @throws LeaseLost */
  readonly hold = async (forMs: number): Promise<void> => {
    if (this.endsMs - performance.now() >= forMs) return;
    // Longer, so that the next exchanges need no further write.
    const keepForMs = forMs + spareMs;
    const requestedMs = performance.now();
    await this.issuances.save(this.lease, {}, { keepForMs });
    this.endsMs = requestedMs + keepForMs;
  };

  /** It was extended by another write. @param requestedMs start of that write by the same clock */
  lengthened(requestedMs: number, forMs: number): void {
    this.endsMs = requestedMs + forMs;
  }
}
