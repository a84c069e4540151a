import { isIP } from 'node:net';
import type { Admission, Peer } from '@certwright/dns-authority';
import { addressKey } from '@certwright/service';

export interface ResponseLimitOptions {
  /** Answers per second to one network; twice as many at once. */
  readonly ratePerS: number;
  /** Networks that are counted, about 150 octets each; beyond it the one unheard of for longest is forgotten. */
  readonly mostNetworks?: number;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
}

/** Seconds of its rate that a network may have at once. */
const burstS = 2;
/**
 * Of the questions beyond the limit, every second one is answered with TC and no record: whoever really asks comes back
 * over TCP, and whose address is forged is sent no more than was sent to us.
 */
const slip = 2;

interface Level {
  tokens: number;
  atMs: number;
  beyond: number;
}

/**
 * Keeps this server from being turned against others: the source of a datagram may be forged, so each network is sent a
 * bounded number of answers. Of this process alone; with n copies it is n times as many.
 */
export class ResponseLimit {
  readonly #options: Required<ResponseLimitOptions>;
  /** In the order of last use. */
  readonly #levels = new Map<string, Level>();

  constructor(options: ResponseLimitOptions) {
    this.#options = { mostNetworks: 50_000, nowMs: () => performance.now(), ...options };
  }

  /** A connection proves its address. */
  admit({ address, transport }: Pick<Peer, 'address' | 'transport'>): Admission {
    if (transport === 'tcp') return 'answer';
    const level = this.#level(networkOf(address));
    if (level.tokens >= 1) {
      level.tokens -= 1;
      return 'answer';
    }
    level.beyond += 1;
    return level.beyond % slip === 0 ? 'truncate' : 'drop';
  }

  #level(network: string): Level {
    const { ratePerS, mostNetworks, nowMs } = this.#options;
    const now = nowMs();
    const most = Math.max(1, ratePerS * burstS);
    const level = this.#levels.get(network) ?? { tokens: most, atMs: now, beyond: 0 };
    level.tokens = Math.min(most, level.tokens + (Math.max(0, now - level.atMs) / 1_000) * ratePerS);
    level.atMs = now;
    this.#levels.delete(network);
    this.#levels.set(network, level);
    if (this.#levels.size > mostNetworks) {
      const [longestUnheard] = this.#levels.keys();
      if (longestUnheard !== undefined) this.#levels.delete(longestUnheard);
    }
    return level;
  }
}

/** IPv4 /24, the smallest network that is routed; IPv6 /56, about what one customer gets (RFC 6177). */
export function networkOf(address: string): string {
  const key = addressKey(address, undefined);
  if (isIP(key) === 4) return `${key.slice(0, key.lastIndexOf('.'))}.0/24`;
  const [a, b, c, d] = key.replace('::/64', '').split(':');
  if (d === undefined) return key;
  return `${a}:${b}:${c}:${(parseInt(d, 16) & 0xff00).toString(16)}::/56`;
}
