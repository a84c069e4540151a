/** What is known of an API key. */
export interface KnownApiKey {
  readonly keyId: string;
  readonly accountId: string;
  /** As stored; unknown permissions grant nothing. */
  readonly permissions: readonly string[];
  readonly disabled: boolean;
}

/** Looks up API keys. May be called again at any time; rejects when the lookup fails. */
export interface ApiKeys<Key extends KnownApiKey = KnownApiKey> {
  /** @param secretSha256 SHA-256 over the whole key as sent; `null` when there is no such key */
  find(secretSha256: Buffer): Promise<Key | null>;
}

export interface ApiKeyCacheOptions {
  /** How long a result is reused. A disabled key may work for this long when the notification is lost. */
  readonly ttlMs?: number;
  /** Maximum number of results of each kind, about 500 bytes each. */
  readonly maxEntries?: number;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
}

interface Entry<Key> {
  readonly found: Key | null;
  readonly untilMs: number;
}

/**
 * Caches results, including "no such key", for a short time. Concurrent requests for the same key share one lookup.
 * Rejections are not cached.
 */
export class ApiKeyCache<Key extends KnownApiKey = KnownApiKey> implements ApiKeys<Key> {
  readonly #ttlMs: number;
  readonly #maxEntries: number;
  readonly #nowMs: () => number;
  /** Separate, so that random keys do not evict real ones. */
  readonly #known = new Map<string, Entry<Key>>();
  readonly #unknown = new Map<string, Entry<Key>>();
  readonly #pending = new Map<string, Promise<Key | null>>();

  constructor(
    private readonly source: ApiKeys<Key>,
    { ttlMs = 10_000, maxEntries = 10_000, nowMs = () => performance.now() }: ApiKeyCacheOptions = {},
  ) {
    this.#ttlMs = ttlMs;
    this.#maxEntries = maxEntries;
    this.#nowMs = nowMs;
  }

  async find(secretSha256: Buffer): Promise<Key | null> {
    const key = secretSha256.toString('latin1');
    const entry = this.#known.get(key) ?? this.#unknown.get(key);
    if (entry !== undefined && this.#nowMs() < entry.untilMs) return entry.found;
    return this.#pending.get(key) ?? this.#lookUp(key, secretSha256);
  }

  /** Call when a key has changed. A lookup under way is neither shared with later requests nor cached. */
  forget(secretSha256: Buffer): void {
    const key = secretSha256.toString('latin1');
    for (const entries of [this.#known, this.#unknown, this.#pending]) entries.delete(key);
  }

  /** Call when any key may have changed. */
  clear(): void {
    for (const entries of [this.#known, this.#unknown, this.#pending]) entries.clear();
  }

  #lookUp(key: string, secretSha256: Buffer): Promise<Key | null> {
    const lookUp = this.source.find(secretSha256).then(
      (found) => {
        if (this.#pending.get(key) === lookUp) this.#remember(key, found);
        return found;
      },
      (error: unknown) => {
        if (this.#pending.get(key) === lookUp) this.#pending.delete(key);
        throw error;
      },
    );
    this.#pending.set(key, lookUp);
    return lookUp;
  }

  #remember(key: string, found: Key | null): void {
    this.#pending.delete(key);
    this.#known.delete(key);
    this.#unknown.delete(key);
    const entries = found === null ? this.#unknown : this.#known;
    entries.set(key, { found, untilMs: this.#nowMs() + this.#ttlMs });
    if (entries.size <= this.#maxEntries) return;
    for (const oldest of entries.keys()) {
      entries.delete(oldest);
      break;
    }
  }
}
