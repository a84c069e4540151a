import { type Redis, RedisAccess, redisSettingsOf } from '@certwright/redis-client';
import { testRun } from './run';

/** Number 0 holds the list of those in use. */
const directory = 0;
const nextKey = 'certwright:test:next';
const claimKey = (database: number) => `certwright:test:claimed:${database}`;
/** A spec that died keeps its claim for so long on a Redis that outlives the run; longer than any run. */
const claimTtlS = 60 * 60;

export interface TestRedis {
  /** For the code under test: `redis://127.0.0.1:port/number`. */
  readonly url: string;
  /** `REDIS_PREFIX`, unique among specs that run at the same time: channels of publish/subscribe know no databases. */
  readonly prefix: string;
  /** Both as settings of a process. */
  readonly environment: { readonly REDIS_URL: string; readonly REDIS_PREFIX: string };
  /** Of `url` and `prefix`, for the code under test. */
  readonly access: RedisAccess;
  /** Over another address, such as a link that the spec cuts, or with another prefix. */
  accessAt(url: string, prefix?: string): RedisAccess;
  /** A connection of the spec's own, until `dispose`. Commands wait for it. */
  connect(): Redis;
  /** Forgets every key of this spec, as a restarted Redis would. */
  flush(): Promise<void>;
  dispose(): Promise<void>;
}

/** An empty logical database of the caller's own on the run's real Redis: create it in `beforeAll`, dispose of it in `afterAll`. */
export async function testRedis(): Promise<TestRedis> {
  const { redisUrl } = testRun();
  const database = await claim(redisUrl);
  const url = at(redisUrl, database);
  const prefix = `spec${database}`;
  const connections: Redis[] = [];
  const connect = () => {
    const connection = rawRedis(url);
    connections.push(connection);
    return connection;
  };
  const own = connect();
  const flush = async () => void (await own.flushdb());
  await flush();
  let disposed: Promise<void> | undefined;
  const dispose = async () => {
    await flush();
    for (const connection of connections) connection.disconnect();
    await inDirectory(redisUrl, (redis) => redis.del(claimKey(database)));
  };
  const accessAt = (otherUrl: string, REDIS_PREFIX = prefix) =>
    new RedisAccess(redisSettingsOf(otherUrl, { REDIS_PREFIX }));
  return {
    ...{ url, prefix, environment: { REDIS_URL: url, REDIS_PREFIX: prefix } },
    ...{ access: accessAt(url), accessAt, connect },
    ...{ flush, dispose: () => (disposed ??= dispose()) },
  };
}

/** @throws Error when every logical database is in use */
async function claim(redisUrl: string): Promise<number> {
  return await inDirectory(redisUrl, async (redis) => {
    const reply = (await redis.config('GET', 'databases')) as string[];
    const specs = Number(reply[1] ?? 16) - 1;
    for (let attempt = 0; attempt < specs; attempt += 1) {
      const database = ((await redis.incr(nextKey)) % specs) + 1;
      if ((await redis.set(claimKey(database), process.pid, 'EX', claimTtlS, 'NX')) === 'OK') return database;
    }
    throw new Error(
      `All ${specs} logical databases of ${redisUrl} are in use: specs must dispose of theirs.`,
    );
  });
}

async function inDirectory<T>(redisUrl: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = rawRedis(at(redisUrl, directory));
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** A connection to inspect a server with: its commands wait until it is connected. Disconnect it. */
export function rawRedis(url: string): Redis {
  const connection = new RedisAccess(redisSettingsOf(url)).open({ kind: 'worker', name: 'spec' }) as Redis;
  return connection.on('error', () => undefined);
}

function at(redisUrl: string, database: number): string {
  const url = new URL(redisUrl);
  url.pathname = `/${database}`;
  return url.href;
}
