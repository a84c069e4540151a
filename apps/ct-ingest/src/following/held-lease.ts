import { LeaseLost } from '@certwright/postgres';
import { type CtLogs, type LogLease } from '../logs/ct-logs';

/** A lease that is lengthened while its log is followed. */
export interface HeldLease {
  /** Aborts when the lease is over, or may be, or the outer signal does. */
  readonly signal: AbortSignal;
  /** Lengthens it no more. */
  end(): void;
}

export function holdLease(
  logs: Pick<CtLogs, 'lengthen'>,
  lease: LogLease,
  leaseMs: number,
  outer: AbortSignal,
): HeldLease {
  const lost = new AbortController();
  let heldUntilMs = performance.now() + leaseMs;
  const lengthen = async () => {
    const askedAtMs = performance.now();
    try {
      await logs.lengthen(lease, leaseMs);
      heldUntilMs = askedAtMs + leaseMs;
    } catch (error) {
      if (error instanceof LeaseLost) lost.abort(error);
      else if (performance.now() > heldUntilMs) lost.abort(new LeaseLost('ct_log', lease.log, lease.token));
    }
  };
  const timer = setInterval(() => void lengthen(), leaseMs / 3);
  return { signal: AbortSignal.any([outer, lost.signal]), end: () => clearInterval(timer) };
}
