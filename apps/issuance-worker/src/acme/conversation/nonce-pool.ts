/** More than a worker's concurrent requests; the oldest are dropped first. */
const maxNonces = 64;

/**
 * Servers keep nonces for minutes or until they restart; a refused nonce costs one exchange, like fetching a new one.
 */
const maxAgeMs = 5 * 60 * 1_000;

/** RFC 8555, section 6.5.1: base64url. The length limit is ours: nonces are signed and sent back. */
const wellFormed = /^[A-Za-z0-9_-]{1,512}$/;

/** Anti-replay nonces from responses; the newest is used first. Each is used once. */
export class NoncePool {
  readonly #nonces: { readonly nonce: string; readonly at: number }[] = [];

  /** @returns false when it is not a well-formed nonce */
  put(nonce: string | undefined, now: Date): boolean {
    if (nonce === undefined || !wellFormed.test(nonce)) return false;
    this.#nonces.push({ nonce, at: now.getTime() });
    if (this.#nonces.length > maxNonces) this.#nonces.shift();
    return true;
  }

  /** Null when no nonce is recent enough. */
  take(now: Date): string | null {
    const newest = this.#nonces.pop();
    if (newest === undefined) return null;
    if (now.getTime() - newest.at <= maxAgeMs) return newest.nonce;
    // All others are older.
    this.#nonces.length = 0;
    return null;
  }

  get size(): number {
    return this.#nonces.length;
  }
}
