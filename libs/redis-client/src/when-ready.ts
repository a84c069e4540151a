import type { RedisClient } from './redis-access';

/**
 * Waits for a connection, for callers that use two of them: either may be ready first, at the start and after both were cut. A
 * connection that could not be made is made again.
 *
 * @throws Error when it is not ready in time
 */
export async function whenReady(client: RedisClient, withinMs: number): Promise<void> {
  if (client.status === 'ready') return;
  await new Promise<void>((resolve, reject) => {
    const ready = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      client.off('ready', ready);
      reject(new Error(`Redis was unavailable for ${withinMs} ms`));
    }, withinMs).unref();
    client.once('ready', ready);
  });
}
