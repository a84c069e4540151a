import type { Lease } from '@certwright/core-schema';
import type { LeasedIssuances } from '@certwright/ordering';

/** Longer than a round of DNS look-ups; a CA that takes longer holds the lease for as long, so that it is lost by accident only. */
export const leaseMs = 15_000;

/** The lease of a walk, and how long it lasts by our own monotonic clock: it stands still for nobody, a frozen process neither. */
export class HeldLease {
  private endsMs: number;

  /** @param forMs for which it was given, just now */
  constructor(
    private readonly issuances: Pick<LeasedIssuances, 'save'>,
    readonly lease: Lease,
    forMs: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.endsMs = nowMs() + forMs;
  }

  /** Lengthens the lease when less than that is left of it, ms. @throws LeaseLost */
  readonly hold = async (forMs: number): Promise<void> => {
    if (this.endsMs - this.nowMs() >= forMs) return;
    // Twice as long, so that the next exchanges need no further write.
    const keepForMs = 2 * forMs;
    const askedMs = this.nowMs();
    await this.issuances.save(this.lease, {}, { keepForMs });
    this.endsMs = askedMs + keepForMs;
  };

  /** It was lengthened by another write. @param askedMs by the same clock, when that write was begun */
  lengthened(askedMs: number, forMs: number): void {
    this.endsMs = askedMs + forMs;
  }
}
