/** What is known of an API key. */
export interface KnownApiKey {
  readonly keyId: string;
  readonly accountId: string;
  /** As stored; words outside the closed list grant nothing. */
  readonly permissions: readonly string[];
  readonly disabled: boolean;
}

/** Where API keys are looked up. Asked again at will; rejects when it cannot answer. */
export interface ApiKeys<Key extends KnownApiKey = KnownApiKey> {
  /** @param secretSha256 SHA-256 over the whole key as sent; `null` when there is no such key */
  find(secretSha256: Buffer): Promise<Key | null>;
}

export interface ApiKeyCacheOptions {
  /** How long an answer is used again: as long as a disabled key may still work when the news of it got lost. */
  readonly ttlMs?: number;
  /** Most answers kept of each sort, about 500 bytes each. */
  readonly mostEntries?: number;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
}

interface Entry<Key> {
  readonly found: Key | null;
  readonly untilMs: number;
}

/**
 * Remembers answers, "no such key" included, for a short time. Requests that ask for the same key at the same time
 * share one look-up. Rejections are not remembered.
 */
export class ApiKeyCache<Key extends KnownApiKey = KnownApiKey> implements ApiKeys<Key> {
  readonly #ttlMs: number;
  readonly #mostEntries: number;
  readonly #nowMs: () => number;
  /** Apart from each other, so that somebody who tries random keys pushes no real one out. */
  readonly #known = new Map<string, Entry<Key>>();
  readonly #unknown = new Map<string, Entry<Key>>();
  readonly #pending = new Map<string, Promise<Key | null>>();

  constructor(
    private readonly source: ApiKeys<Key>,
    { ttlMs = 10_000, mostEntries = 10_000, nowMs = () => performance.now() }: ApiKeyCacheOptions = {},
  ) {
    this.#ttlMs = ttlMs;
    this.#mostEntries = mostEntries;
    this.#nowMs = nowMs;
  }

  async find(secretSha256: Buffer): Promise<Key | null> {
    const key = secretSha256.toString('latin1');
    const entry = this.#known.get(key) ?? this.#unknown.get(key);
    if (entry !== undefined && this.#nowMs() < entry.untilMs) return entry.found;
    return this.#pending.get(key) ?? this.#lookUp(key, secretSha256);
  }

  /** This key has changed. A look-up under way is not shared with later requests and not remembered. */
  forget(secretSha256: Buffer): void {
    const key = secretSha256.toString('latin1');
    for (const entries of [this.#known, this.#unknown, this.#pending]) entries.delete(key);
  }

  /** Any key may have changed. */
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
    if (entries.size <= this.#mostEntries) return;
    for (const oldest of entries.keys()) {
      entries.delete(oldest);
      break;
    }
  }
}
