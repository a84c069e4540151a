import { createHash } from 'node:crypto';
import { orAbort } from '../http/or-abort';
import { ProviderFault } from '../provider-fault';
import type { TokenGrant } from './token-endpoint';

/** An access token, and the refresh token that the next one is asked with. */
export interface HeldToken {
  readonly accessToken: string;
  readonly refreshToken: string;
}

type Held = HeldToken & { readonly endsAtMs: number };

interface Entry {
  readonly exchange: Promise<Held>;
  /** Null while the exchange is under way. */
  held: Held | null;
}

/** Not used in its last minute: the request that it authorizes takes up to ten seconds, and clocks differ. */
const marginMs = 60_000;
/** Where the provider does not say how long it lasts (RFC 6749, section 5.1), shorter than any that is documented. */
const assumedS = 600;

/**
 * The access tokens of one provider, in this process only, by the SHA-256 of the refresh token that an integration holds.
 * Entries outlive their access token: when the provider rotated, whoever still comes with the old refresh token is served
 * and told the new one.
 */
export class AccessTokens {
  readonly #entries = new Map<string, Entry>();

  /** @param most beyond it, what was used least recently is forgotten */
  constructor(private readonly most = 10_000) {}

  /**
   * Those who come with the same refresh token at once share one exchange, which is nobody's own: it goes on when the
   * one who began it gives up, since a rotated token must not be lost.
   *
   * @param refresh asks the provider; bounded in time by itself
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

  /** The access token was refused: whoever comes next has a new one fetched. */
  refused({ refreshToken, accessToken }: HeldToken): void {
    const key = keyOf(this.#latest(refreshToken));
    const held = this.#entries.get(key)?.held;
    if (held?.accessToken === accessToken) this.#entries.set(key, settled({ ...held, endsAtMs: 0 }));
  }

  /** What took the place of a refresh token, as far as this process knows; null while it is the newest. */
  successorOf(refreshToken: string): string | null {
    const latest = this.#latest(refreshToken);
    return latest === refreshToken ? null : latest;
  }

  /** A grant that was just made, so that the first session after it needs no exchange. */
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
    // A failed exchange is forgotten, so that the next one who comes tries again.
    exchange.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return entry;
  }

  /** Under the token that was spent and under the one that took its place: handles of both are still about. */
  #settle(spent: string, grant: TokenGrant, now: Date): Held {
    const held = heldOf(grant, spent, now);
    for (const token of new Set([spent, held.refreshToken])) this.#touch(keyOf(token), settled(held));
    return held;
  }

  #latest(refreshToken: string): string {
    let latest = refreshToken;
    // Bounded, should a provider ever give an old token again.
    for (let steps = 0; steps < this.most; steps += 1) {
      const next = this.#entries.get(keyOf(latest))?.held?.refreshToken ?? latest;
      if (next === latest) break;
      latest = next;
    }
    return latest;
  }

  /** A Map keeps the order of insertion: the first is what was used least recently. */
  #touch(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.most && oldest !== undefined) this.#entries.delete(oldest);
  }
}

function heldOf({ accessToken, refreshToken, expiresInS }: TokenGrant, asked: string, now: Date): Held {
  const endsAtMs = now.getTime() + (expiresInS ?? assumedS) * 1000;
  return { accessToken, refreshToken: refreshToken ?? asked, endsAtMs };
}

const isGood = ({ endsAtMs }: Held, now: Date): boolean => now.getTime() < endsAtMs - marginMs;

const settled = (held: Held): Entry => ({ exchange: Promise.resolve(held), held });

const keyOf = (refreshToken: string): string =>
  createHash('sha256').update(refreshToken, 'utf8').digest('base64url');

export const noLastingToken = (provider: string): ProviderFault =>
  new ProviderFault(
    'rejected',
    `${provider} gave no refresh token, so that the authorization would end soon. Authorize again, with offline access.`,
  );
