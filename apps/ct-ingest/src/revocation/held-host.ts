import { LeaseLost } from '@certwright/postgres';
import { type CrlHosts } from './store/crl-hosts';
import { type HostLease } from './store/host-lease';

/** A lease that is lengthened while its host is asked. */
export interface HeldHost {
  /** Aborts when the lease is over, or may be, or the outer signal does. */
  readonly signal: AbortSignal;
  /** Lengthens it no more. */
  end(): void;
}

export function holdHost(
  hosts: Pick<CrlHosts, 'lengthen'>,
  lease: HostLease,
  leaseMs: number,
  outer: AbortSignal,
): HeldHost {
  const lost = new AbortController();
  let heldUntilMs = performance.now() + leaseMs;
  const lengthen = async () => {
    const askedAtMs = performance.now();
    try {
      await hosts.lengthen(lease, leaseMs);
      heldUntilMs = askedAtMs + leaseMs;
    } catch (error) {
      if (error instanceof LeaseLost) lost.abort(error);
      else if (performance.now() > heldUntilMs)
        lost.abort(new LeaseLost('ct_crl_host', lease.host, lease.token));
    }
  };
  const timer = setInterval(() => void lengthen(), leaseMs / 3);
  return { signal: AbortSignal.any([outer, lost.signal]), end: () => clearInterval(timer) };
}
