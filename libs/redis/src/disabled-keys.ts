import type { RedisAccess, RedisLog } from '@certwright/redis-client';
import { lastValueFrom } from 'rxjs';
import { EventClient } from './transport/event-client';
import { EventServer } from './transport/event-server';

/** Channel of the event that an operator has disabled a key; its data is `DisabledKey`. */
export const disabledKeysChannel = ({ prefix }: Pick<RedisAccess, 'prefix'>): string =>
  `${prefix}:api-key-disabled`;

interface DisabledKey {
  /** SHA-256 over the whole key as sent, hex. */
  readonly secretSha256: string;
}

/** What remembers keys, and how it is made to look again. */
export interface RememberedKeys {
  /** Any key may have changed. */
  clear(): void;
  /** @param secretSha256 SHA-256 over the whole key as sent */
  forget(secretSha256: Buffer): void;
}

export interface DisabledKeysOptions {
  /** Of the process: the connection is called `<name>-disabled-keys`. */
  readonly name: string;
  readonly keys: RememberedKeys;
  readonly log: RedisLog;
}

/**
 * Forgets a key as soon as it is disabled. The event may be lost; then the time that `keys` keeps its answers is the
 * bound.
 */
export function followDisabledKeys(
  redis: RedisAccess,
  { name, keys, log }: DisabledKeysOptions,
): { close(): Promise<void> } {
  const server = new EventServer(redis, { name: `${name}-disabled-keys`, log });
  const forget = async (data: unknown) => {
    const secretSha256 = digestIn(data);
    // An event that cannot be read is about some key all the same.
    await Promise.resolve(secretSha256 === null ? keys.clear() : keys.forget(secretSha256));
  };
  server.addHandler(disabledKeysChannel(redis), forget, true);
  server.status.subscribe((status) => {
    // What was published while the connection was down is lost.
    if (status === 'subscribed') keys.clear();
  });
  server.listen(() => undefined);
  return server;
}

/**
 * Tells running processes to forget a key.
 *
 * @throws Error when Redis does not take the event in time
 */
export async function announceDisabledKey(
  redis: RedisAccess,
  secretSha256: Buffer,
  { log, withinMs }: { readonly log: RedisLog; readonly withinMs: number },
): Promise<void> {
  const client = new EventClient(redis, { name: 'announcement', log, readyWithinMs: withinMs });
  const disabled: DisabledKey = { secretSha256: secretSha256.toString('hex') };
  try {
    await lastValueFrom(client.emit(disabledKeysChannel(redis), disabled), { defaultValue: undefined });
  } finally {
    await client.close();
  }
}

function digestIn(data: unknown): Buffer | null {
  const hex = (data as Partial<DisabledKey> | null | undefined)?.secretSha256;
  return typeof hex === 'string' && /^[0-9a-f]{64}$/i.test(hex) ? Buffer.from(hex, 'hex') : null;
}
