import { Logger } from '@nestjs/common';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { lastValueFrom, timeout } from 'rxjs';
import { startedPlatform } from './started-platform';

/** A proxy waits for ever for a Redis that is away. */
const announcementTimeoutMs = 3_000;

/** Tells running processes to forget the key at once. It may be lost: their caches hold a key for 10 s at most. */
export async function announceDisabledKey(secretSha256: Buffer): Promise<void> {
  const url = process.env['REDIS_URL'] ?? (await startedPlatform())?.redis_url;
  if (url === undefined) return;
  // Its connection is no news for the person at the terminal.
  Logger.overrideLogger(false);
  const { hostname, port, username, password } = new URL(url);
  const client = ClientProxyFactory.create({
    transport: Transport.REDIS,
    options: {
      host: hostname,
      port: Number(port || 6379),
      ...(username === '' ? {} : { username }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      retryAttempts: 0,
    },
  });
  try {
    const sent = client.emit('api-key-disabled', { secretSha256: secretSha256.toString('hex') });
    await lastValueFrom(sent.pipe(timeout(announcementTimeoutMs)), { defaultValue: undefined });
  } catch {
    console.error('Redis did not answer: running processes stop accepting the key within 10 seconds.');
  } finally {
    await client.close();
  }
}
