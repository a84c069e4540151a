import { Redis } from 'ioredis';
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
  /** Unique among specs that run at the same time. Channels of publish/subscribe know no databases: name them with it. */
  readonly prefix: string;
  /** Forgets every key of this spec, as a restarted Redis would. */
  flush(): Promise<void>;
  dispose(): Promise<void>;
}

/** An empty logical database of the caller's own on the run's real Redis: create it in `beforeAll`, dispose of it in `afterAll`. */
export async function testRedis(): Promise<TestRedis> {
  const { redisUrl } = testRun();
  const database = await claim(redisUrl);
  const url = at(redisUrl, database);
  const connection = new Redis(url);
  connection.on('error', () => undefined);
  const flush = async () => void (await connection.flushdb());
  await flush();
  let disposed: Promise<void> | undefined;
  const dispose = async () => {
    await flush();
    connection.disconnect();
    await inDirectory(redisUrl, (redis) => redis.del(claimKey(database)));
  };
  return { url, prefix: `spec${database}:`, flush, dispose: () => (disposed ??= dispose()) };
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
  const redis = new Redis(at(redisUrl, directory));
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

function at(redisUrl: string, database: number): string {
  const url = new URL(redisUrl);
  url.pathname = `/${database}`;
  return url.href;
}
