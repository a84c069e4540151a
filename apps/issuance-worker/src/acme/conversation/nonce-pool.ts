/** More than a worker has requests under way; what is beyond is older and goes first. */
const mostNonces = 64;

/** Servers keep nonces for minutes or as long as their process; an old one costs an exchange, a new one as well. */
const longestAgeMs = 5 * 60 * 1_000;

/** RFC 8555, section 6.5.1: base64url. The length is ours: it is signed and sent back. */
const wellFormed = /^[A-Za-z0-9_-]{1,512}$/;

/** Anti-replay nonces that answers brought, the newest taken first. Each is used once. */
export class NoncePool {
  readonly #nonces: { readonly nonce: string; readonly at: number }[] = [];

  /** @returns whether it is a nonce at all */
  put(nonce: string | undefined, now: Date): boolean {
    if (nonce === undefined || !wellFormed.test(nonce)) return false;
    this.#nonces.push({ nonce, at: now.getTime() });
    if (this.#nonces.length > mostNonces) this.#nonces.shift();
    return true;
  }

  /** Null when there is none that is young enough. */
  take(now: Date): string | null {
    const newest = this.#nonces.pop();
    if (newest === undefined) return null;
    if (now.getTime() - newest.at <= longestAgeMs) return newest.nonce;
    // All others are older still.
    this.#nonces.length = 0;
    return null;
  }

  get size(): number {
    return this.#nonces.length;
  }
}
