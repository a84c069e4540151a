import { setTimeout as delay } from 'node:timers/promises';
import type { RedisLog } from './log-changes';
import type { RedisClient } from './redis-access';
import { whenReady } from './when-ready';

export interface ClaimLog extends RedisLog {
  error(members: object, message: string): void;
}

/** Whose Redis it is. */
export interface RedisOwner {
  readonly mode: 'sandbox' | 'production';
  /** Null: unknown to this process, which claims nothing and accepts every deployment of the mode. */
  readonly id: string | null;
}

/** Milliseconds. */
const defaultTimes = {
  /** A deployment that is alive claims its prefix again this often: `FLUSHALL` loses the claim. */
  renewMs: 5_000,
  /** A process that was refused looks again this often, and claims a prefix only if it was free for so long: no process renewed it. */
  refusedMs: 10_000,
  /** Wait after Redis or the database was unavailable. */
  unavailableMs: 250,
};
/** How long a check waits for its connection, ms. */
const readyWithinMs = 250;

/** What separates deployments with the same prefix on one Redis: the first one claims it, and the others use nothing of it. */
export class PrefixClaim {
  readonly #stopping = new AbortController();
  readonly #renewing: NodeJS.Timeout;
  #owner: RedisOwner | null = null;
  #checking: Promise<boolean> | undefined;
  #refusedBy: string | null = null;
  /** Since when the prefix has been free at every check, by `performance.now()`; null: not at the last one. */
  #freeSinceMs: number | null = null;

  /**
   * @param client of this claim alone, which needs no claim to connect
   * @param findOwner rejects while the database is unavailable; null: its schema has no identity yet, so nothing is checked
   * @param onLost connections that are open must be made again
   */
  constructor(
    private readonly prefix: string,
    private readonly client: RedisClient,
    private readonly findOwner: () => Promise<RedisOwner | null>,
    private readonly log: ClaimLog,
    private readonly onLost: () => void,
    private readonly times = defaultTimes,
  ) {
    this.#renewing = setInterval(() => void this.#renew(), times.renewMs).unref();
  }

  /**
   * Called for each connection, before it is made.
   *
   * @returns true as soon as the prefix is known to belong to this deployment; false when the signal or `close` comes first
   */
  async admit(signal: AbortSignal): Promise<boolean> {
    const either = AbortSignal.any([signal, this.#stopping.signal]);
    while (!either.aborted) {
      const isOwn = await this.#check().catch(() => null);
      if (isOwn === true) return !either.aborted;
      const { unavailableMs, refusedMs } = this.times;
      const waitMs = isOwn === null ? unavailableMs : refusedMs;
      await delay(waitMs, undefined, { signal: either }).catch(() => undefined);
    }
    return false;
  }

  /** A readiness check of this copy. @throws Error while another deployment is known to use the prefix */
  requireOwn(): void {
    if (this.#refusedBy !== null)
      throw new Error(
        `REDIS_PREFIX ${this.prefix} belongs to deployment ${this.#refusedBy} on the Redis of REDIS_URL`,
      );
  }

  close(): void {
    this.#stopping.abort();
    clearInterval(this.#renewing);
    this.client.disconnect();
  }

  async #renew(): Promise<void> {
    if (this.#refusedBy !== null) return;
    const isOwn = await this.#check().catch(() => null);
    if (isOwn === false) this.onLost();
  }

  /** Connections that are made at the same time are checked together. */
  async #check(): Promise<boolean> {
    return await (this.#checking ??= this.#isOwn().finally(() => (this.#checking = undefined)));
  }

  async #isOwn(): Promise<boolean> {
    const owner = (this.#owner ??= await this.findOwner());
    if (owner === null) return true;
    // Each connection checks on its own, so the number of checks says nothing about the time.
    const freeSinceMs = this.#freeSinceMs ?? performance.now();
    const isFreeForLong = performance.now() - freeSinceMs >= this.times.refusedMs;
    // Set again below if the prefix is free. A check that fails restarts the time: no process could renew its claim.
    this.#freeSinceMs = null;
    await whenReady(this.client, readyWithinMs);
    const key = `${this.prefix}:deployment`;
    const own = `${owner.mode}:${owner.id ?? ''}`;
    const mayClaim = owner.id !== null && (this.#refusedBy === null || isFreeForLong);
    if (mayClaim) await this.client.set(key, own, 'NX');
    const found = await this.client.get(key);
    if (found === null) {
      this.#freeSinceMs = freeSinceMs;
      return this.#refusedBy === null;
    }
    const isOwn = owner.id === null ? found.startsWith(own) : found === own;
    this.#note(isOwn ? null : found, key);
    return isOwn;
  }

  #note(refusedBy: string | null, key: string): void {
    if (refusedBy === this.#refusedBy) return;
    this.#refusedBy = refusedBy;
    if (refusedBy === null)
      return this.log.info({ prefix: this.prefix }, 'the prefix in Redis belongs to this deployment');
    this.log.error(
      { prefix: this.prefix, deployment: refusedBy },
      'another deployment uses this prefix on this Redis, which is not used: set another REDIS_PREFIX or REDIS_URL; ' +
        `if that deployment no longer exists, delete the key ${key}`,
    );
  }
}
