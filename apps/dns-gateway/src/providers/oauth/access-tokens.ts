import { createHash } from 'node:crypto';
import { orAbort } from '../http/or-abort';
import { ProviderFault } from '../provider-fault';
import type { TokenGrant } from './token-endpoint';

/** An access token, and the refresh token for the next exchange. */
export interface HeldToken {
  readonly accessToken: string;
  readonly refreshToken: string;
}

type Held = HeldToken & { readonly endsAtMs: number };

interface Entry {
  readonly exchange: Promise<Held>;
  /** Null during the exchange. */
  held: Held | null;
}

/** Not used in its last minute: the request that it authorizes takes up to ten seconds, and clocks differ. */
const marginMs = 60_000;
/** Default lifetime when the provider states none (RFC 6749, section 5.1); shorter than any documented one. */
const assumedS = 600;

/**
 * The access tokens of one provider, in this process only, keyed by the SHA-256 of the integration's refresh token.
 * Entries outlive their access token: after a rotation, a caller with the old refresh token is served and gets the
 * new one.
 */
export class AccessTokens {
  readonly #entries = new Map<string, Entry>();

  /** @param most limit of entries; the least recently used are dropped */
  constructor(private readonly maxEntries = 10_000) {}

  /**
   * Concurrent callers with the same refresh token share one exchange. It continues when the caller that started it
   * gives up, because a rotated token must not be lost.
   *
   * @param refresh calls the provider; limits its own time
   * @throws ProviderFault; the signal's reason
   */
  async get(
    refreshToken: string,
    refresh: (refreshToken: string) => Promise<TokenGrant>,
    { now, signal }: { readonly now: () => Date; readonly signal: AbortSignal },
  ): Promise<HeldToken> {
    const current = this.#latest(refreshToken);
    const known = this.#entries.get(keyOf(current));
    const usable = known !== undefined && (known.held === null || isGood(known.held, now()));
    const entry = usable ? known : this.#begin(current, refresh, now);
    this.#touch(keyOf(current), entry);
    return await orAbort(entry.exchange, signal);
  }

  /** The access token was refused: the next caller fetches a new one. */
  refused({ refreshToken, accessToken }: HeldToken): void {
    const key = keyOf(this.#latest(refreshToken));
    const held = this.#entries.get(key)?.held;
    if (held?.accessToken === accessToken) this.#entries.set(key, settled({ ...held, endsAtMs: 0 }));
  }

  /** The successor of a refresh token, as far as this process knows; null while it is the newest. */
  successorOf(refreshToken: string): string | null {
    const latest = this.#latest(refreshToken);
    return latest === refreshToken ? null : latest;
  }

  /** Stores a new grant, so that the first session needs no exchange. */
  put(refreshToken: string, grant: TokenGrant, now: Date): void {
    this.#touch(keyOf(refreshToken), settled(heldOf(grant, refreshToken, now)));
  }

  get size(): number {
    return this.#entries.size;
  }

  #begin(current: string, refresh: (refreshToken: string) => Promise<TokenGrant>, now: () => Date): Entry {
    const key = keyOf(current);
    const exchange = refresh(current).then((grant) => this.#settle(current, grant, now()));
    const entry: Entry = { exchange, held: null };
    // A failed exchange is dropped, so that the next caller retries.
    exchange.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return entry;
  }

  /** Stored under the spent token and its successor: handles with either are still in use. */
  #settle(spent: string, grant: TokenGrant, now: Date): Held {
    const held = heldOf(grant, spent, now);
    for (const token of new Set([spent, held.refreshToken])) this.#touch(keyOf(token), settled(held));
    return held;
  }

  #latest(refreshToken: string): string {
    let latest = refreshToken;
    // Bounded, in case a provider returns an old token again.
    for (let steps = 0; steps < this.maxEntries; steps += 1) {
      const next = this.#entries.get(keyOf(latest))?.held?.refreshToken ?? latest;
      if (next === latest) break;
      latest = next;
    }
    return latest;
  }

  /** A Map keeps the order of insertion: the first entry is the least recently used. */
  #touch(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.maxEntries && oldest !== undefined) this.#entries.delete(oldest);
  }
}

function heldOf({ accessToken, refreshToken, expiresInS }: TokenGrant, requested: string, now: Date): Held {
  const endsAtMs = now.getTime() + (expiresInS ?? assumedS) * 1000;
  return { accessToken, refreshToken: refreshToken ?? requested, endsAtMs };
}

const isGood = ({ endsAtMs }: Held, now: Date): boolean => now.getTime() < endsAtMs - marginMs;

const settled = (held: Held): Entry => ({ exchange: Promise.resolve(held), held });

const keyOf = (refreshToken: string): string =>
  createHash('sha256').update(refreshToken, 'utf8').digest('base64url');

export const noLastingToken = (provider: string): ProviderFault =>
  new ProviderFault(
    'rejected',
    `${provider} returned no refresh token, so that the authorization would end soon. Authorize again, with offline access.`,
  );
