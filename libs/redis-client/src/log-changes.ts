import type { RedisClient } from './redis-access';

/** The part of a logger that is used here. */
export interface RedisLog {
  warn(members: object, message: string): void;
  info(members: object, message: string): void;
}

/**
 * Logs one line when Redis becomes unavailable and one when it is back.
 *
 * @returns what ends it, except that errors stay handled
 */
export function logChanges(client: RedisClient, name: string, log: RedisLog): () => void {
  let isUnavailable = false;
  const unavailable = (members: object) => {
    if (!isUnavailable) log.warn({ connection: name, ...members }, 'Redis is unavailable');
    isUnavailable = true;
  };
  const closed = () => {
    if (client.status !== 'end') unavailable({});
  };
  // Without a listener an `error` event would be printed. That of a Cluster has the error of a node.
  client.on('error', (error: Error & { readonly lastNodeError?: unknown }) => {
    if (error.lastNodeError !== undefined) error.cause ??= error.lastNodeError;
    unavailable({ err: error });
  });
  client.on('close', closed);
  client.on('ready', () => {
    if (isUnavailable) log.info({ connection: name }, 'Redis is back');
    isUnavailable = false;
  });
  return () => client.off('close', closed);
}
