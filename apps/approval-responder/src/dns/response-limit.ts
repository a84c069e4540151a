import { isIP } from 'node:net';
import type { Admission, Peer } from '@certwright/dns-authority';
import { addressKey } from '@certwright/service';

export interface ResponseLimitOptions {
  /** Responses per second to one network; bursts of twice as many. */
  readonly ratePerS: number;
  /** Networks that are counted, about 150 bytes each; beyond it the least recently seen one is dropped. */
  readonly maxNetworks?: number;
  /** Monotonic, ms. */
  readonly nowMs?: () => number;
}

/** Max burst of a network, in seconds of its rate. */
const burstS = 2;
/**
 * Of the queries beyond the limit, every second one is answered with TC and no record: genuine clients retry over
 * TCP, and the owner of a forged address receives no more than was sent to us.
 */
const slip = 2;

interface Level {
  tokens: number;
  atMs: number;
  beyond: number;
}

/**
 * Prevents reflection attacks: the source of a datagram may be forged, so each network is sent a limited number of
 * responses. The limit is per process; n copies allow n times as many.
 */
export class ResponseLimit {
  readonly #options: Required<ResponseLimitOptions>;
  /** In order of last use. */
  readonly #levels = new Map<string, Level>();

  constructor(options: ResponseLimitOptions) {
    this.#options = { maxNetworks: 50_000, nowMs: () => performance.now(), ...options };
  }

  /** A connection proves its source address. */
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
    const { ratePerS, maxNetworks, nowMs } = this.#options;
    const now = nowMs();
    const maxLevel = Math.max(1, ratePerS * burstS);
    const level = this.#levels.get(network) ?? { tokens: maxLevel, atMs: now, beyond: 0 };
    level.tokens = Math.min(maxLevel, level.tokens + (Math.max(0, now - level.atMs) / 1_000) * ratePerS);
    level.atMs = now;
    this.#levels.delete(network);
    this.#levels.set(network, level);
    if (this.#levels.size > maxNetworks) {
      const [leastRecent] = this.#levels.keys();
      if (leastRecent !== undefined) this.#levels.delete(leastRecent);
    }
    return level;
  }
}

/** IPv4 /24, the smallest network that is routed; IPv6 /56, about one customer's network (RFC 6177). */
export function networkOf(address: string): string {
  const key = addressKey(address, undefined);
  if (isIP(key) === 4) return `${key.slice(0, key.lastIndexOf('.'))}.0/24`;
  const [a, b, c, d] = key.replace('::/64', '').split(':');
  if (d === undefined) return key;
  return `${a}:${b}:${c}:${(parseInt(d, 16) & 0xff00).toString(16)}::/56`;
}
