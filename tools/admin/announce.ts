import { announceDisabledKey as announce } from '@certwright/redis';
import { startedPlatform } from './started-platform';

/** How long Redis may take, ms. */
const withinMs = 3_000;

/** The connection is no news for the person at the terminal. */
const log = { warn: () => undefined, info: () => undefined };

/** Tells running processes to forget the key at once. It may be lost: their caches hold a key for 10 s at most. */
export async function announceDisabledKey(secretSha256: Buffer): Promise<void> {
  const url = process.env['REDIS_URL'] ?? (await startedPlatform())?.redis_url;
  if (url === undefined) return;
  try {
    await announce(url, secretSha256, { log, withinMs });
  } catch {
    console.error('Redis did not answer: running processes stop accepting the key within 10 seconds.');
  }
}
