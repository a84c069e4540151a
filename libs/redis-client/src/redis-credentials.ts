import { readFileSync } from 'node:fs';
import type { RedisOptions } from 'ioredis';
import type { RedisSettings } from './redis-settings';

/** Passwords and CAs, read again from their files for each connection, so that a rotation needs no restart. */
export class RedisCredentials {
  readonly #settings: RedisSettings;
  readonly #password: () => string | undefined;
  readonly #sentinelPassword: () => string | undefined;
  readonly #ca: () => string | undefined;

  /** @throws Error when a file cannot be read */
  constructor(settings: RedisSettings) {
    const { REDIS_URL, REDIS_PASSWORD_FILE, REDIS_SENTINEL_PASSWORD_FILE, REDIS_CA_FILE } = settings;
    this.#settings = settings;
    this.#password = rereadFile(REDIS_PASSWORD_FILE, REDIS_URL.password ?? undefined);
    this.#sentinelPassword = rereadFile(REDIS_SENTINEL_PASSWORD_FILE);
    this.#ca = rereadFile(REDIS_CA_FILE);
  }

  options() {
    const { REDIS_URL, REDIS_SENTINEL_USER } = this.#settings;
    const ca = this.#ca;
    const tls = {
      // ioredis copies the members for each connection.
      get ca() {
        return ca();
      },
    };
    return {
      ...(REDIS_URL.user === null ? {} : { username: REDIS_URL.user }),
      ...(REDIS_SENTINEL_USER === null ? {} : { sentinelUsername: REDIS_SENTINEL_USER }),
      password: this.#password(),
      sentinelPassword: this.#sentinelPassword(),
      ...(REDIS_URL.isTls ? { tls, sentinelTLS: tls, enableTLSForSentinelMode: true } : {}),
    };
  }

  /** @param options of a connection, which ioredis reads whenever it connects */
  renew(options: RedisOptions): void {
    const get = (read: () => string | undefined): PropertyDescriptor => ({
      get: read,
      enumerable: true,
      configurable: true,
    });
    Object.defineProperties(options, {
      password: get(this.#password),
      sentinelPassword: get(this.#sentinelPassword),
    });
  }
}

/** @returns what reads the file at every call; its last content while it cannot be read, as during a rotation */
function rereadFile(path: string | null, otherwise?: string): () => string | undefined {
  if (path === null) return () => otherwise;
  let last = readText(path);
  return () => {
    try {
      last = readText(path);
    } catch {
      // The connection is refused if the last one is outdated, and the next one reads again.
    }
    return last;
  };
}

/** Without the line break that editors and `echo` append. */
function readText(path: string): string {
  return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
}
