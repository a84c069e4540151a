import type { RedisLog } from '@certwright/redis-client';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { eventually, testRedis, type TestRedis } from '@certwright/testing';
import { connectRedis, type RedisConnection } from './redis-connection';
import { RedisTokenBuckets, type Taken } from './redis-token-buckets';

let redis: TestRedis;
beforeAll(async () => {
  redis = await testRedis();
});
afterAll(() => redis.dispose());

const silent: RedisLog = { warn: () => undefined, info: () => undefined };
const opened: RedisConnection[] = [];
afterEach(async () => {
  for (const connection of opened.splice(0)) await connection.close();
});

function open(url: string, log: RedisLog = silent, commandTimeoutMs = 20_000): RedisConnection {
  const connection = connectRedis(redis.accessAt(url), { name: 'spec', log, commandTimeoutMs });
  opened.push(connection);
  return connection;
}
async function openReady(): Promise<RedisConnection> {
  const connection = open(redis.url);
  await eventually(() => connection.ping());
  return connection;
}
const granted = (answers: readonly Taken[]): number => answers.filter(({ ok }) => ok).length;

describe('a token bucket on Redis', () => {
  /** So slow that nothing fills while a spec runs. */
  const hourly = { ratePerS: 1 / 3_600, burst: 20, cost: 1 };

  it('grants the burst to all connections together, however many take at once', async () => {
    const [one, other] = [await openReady(), await openReady()].map(
      (connection) => new RedisTokenBuckets(connection),
    );
    const takes = Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? one : other)?.take('shared', hourly));
    const answers = (await Promise.all(takes)).filter((each) => each !== undefined);
    expect(granted(answers)).toBe(20);
    const last = answers.at(-1);
    expect(last?.ok === false && last.retryAfterS).toBeGreaterThan(3_500);
    expect(last?.ok === false && last.retryAfterS).toBeLessThanOrEqual(3_600);
  });

  it('fills at its rate by the clock of Redis, up to the burst', async () => {
    const connection = await openReady();
    const { client } = connection;
    const buckets = new RedisTokenBuckets(connection);
    const rate = { ratePerS: 0.01, burst: 20, cost: 20 };
    expect(await buckets.take('filling', rate)).toEqual({ ok: true });
    const refused = await buckets.take('filling', rate);
    // At most 2,000 s to wait, less what the spec has taken.
    expect(refused.ok ? 0 : refused.retryAfterS).toBeGreaterThan(1_900);
    expect(refused.ok ? 0 : refused.retryAfterS).toBeLessThanOrEqual(2_000);
    const at = Number(await client.hget(`${redis.prefix}:limits:{filling}`, 'at'));
    await client.hset(`${redis.prefix}:limits:{filling}`, { at: at - 1_000_000 });
    expect(await buckets.take('filling', { ...rate, cost: 10 })).toEqual({ ok: true });
    await client.hset(`${redis.prefix}:limits:{filling}`, { at: at - 3_600_000_000 });
    expect(await buckets.take('filling', rate)).toEqual({ ok: true });
    expect(await buckets.take('filling', { ...rate, cost: 1 })).toMatchObject({ ok: false });
  });

  it('is not emptied or filled by a clock that was set back', async () => {
    const connection = await openReady();
    const { client } = connection;
    const buckets = new RedisTokenBuckets(connection);
    await buckets.take('clock', { ...hourly, cost: 5 });
    await client.hset(`${redis.prefix}:limits:{clock}`, { at: Date.now() + 3_600_000 });
    expect(await buckets.take('clock', { ...hourly, cost: 15 })).toEqual({ ok: true });
    expect(await buckets.take('clock', hourly)).toMatchObject({ ok: false });
  });

  it('expires when it would be full again', async () => {
    const connection = await openReady();
    await new RedisTokenBuckets(connection).take('expiring', { ratePerS: 0.005, burst: 20, cost: 10 });
    const leftMs = await connection.client.pttl(`${redis.prefix}:limits:{expiring}`);
    expect(leftMs).toBeGreaterThan(1_900_000);
    expect(leftMs).toBeLessThanOrEqual(2_001_000);
  });

  it('survives that Redis forgets its scripts', async () => {
    const connection = await openReady();
    const { client } = connection;
    const buckets = new RedisTokenBuckets(connection);
    await buckets.take('scripts', hourly);
    await client.script('FLUSH');
    expect(await buckets.take('scripts', { ...hourly, cost: 19 })).toEqual({ ok: true });
    expect(await buckets.take('scripts', hourly)).toMatchObject({ ok: false });
  });
});

describe('the readiness check', () => {
  it('fails while Redis answers but refuses writes', async () => {
    const { client: admin } = await openReady();
    const url = new URL(redis.url);
    [url.username, url.password] = [`reader-${url.pathname.slice(1)}-connection`, 'any'];
    await admin.call('ACL', 'SETUSER', url.username, 'on', 'nopass', '~*', '&*', '+@all', '-@write');
    try {
      const reading = open(url.href);
      await eventually(() => reading.ping());
      await expect(reading.checkWrites()).rejects.toThrow('NOPERM');
      await admin.call('ACL', 'SETUSER', url.username, '+@write');
      await reading.checkWrites();
    } finally {
      await admin.call('ACL', 'DELUSER', url.username);
    }
  });
});

describe('while Redis is unavailable', () => {
  let line: CuttableLine;
  beforeEach(async () => {
    line = await CuttableLine.to(new URL(redis.url));
  });
  afterEach(() => line.dispose());

  it('a command rejects at once, nothing is logged twice, and the connection comes back by itself', async () => {
    const messages: string[] = [];
    const note = (_members: object, message: string): void => void messages.push(message);
    const connection = open(line.url, { warn: note, info: note });
    await eventually(() => connection.ping());
    await line.cut();
    await eventually(async () => {
      const begun = performance.now();
      await expect(connection.ping()).rejects.toThrow();
      expect(performance.now() - begun).toBeLessThan(2_000);
      expect(connection.client.status).toBe('reconnecting');
    });
    await line.restore();
    await eventually(() => connection.ping());
    expect(messages).toEqual(['Redis is unavailable', 'Redis is back']);
  });

  it('from the beginning, the process starts nevertheless', async () => {
    await line.cut();
    const connection = open(line.url);
    await expect(connection.ping()).rejects.toThrow();
    await line.restore();
    await eventually(() => connection.ping());
  });

  it('and its connection hangs, a command rejects after its time', async () => {
    const connection = open(line.url, silent, 60);
    await eventually(() => connection.ping());
    line.freeze();
    await expect(
      new RedisTokenBuckets(connection).take('a', { ratePerS: 1, burst: 1, cost: 1 }),
    ).rejects.toThrow('timed out');
  });

  it('a connection can be closed', async () => {
    const connection = open(line.url);
    await eventually(() => connection.ping());
    await line.cut();
    await connection.close();
    expect(connection.client.status).toBe('end');
  });
});

/** A way to Redis that a spec can cut, restore and freeze. */
class CuttableLine {
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  private constructor(private readonly target: URL) {}

  static async to(target: URL): Promise<CuttableLine> {
    const line = new CuttableLine(target);
    await line.restore();
    return line;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}${this.target.pathname}`;
  }

  async restore(): Promise<void> {
    const server = createServer((near) => {
      const far = connect(Number(this.target.port), '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from);
        from.on('error', () => to.destroy()).on('close', () => to.destroy());
        from.pipe(to);
      }
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
    await closed;
    this.#server = undefined;
  }

  freeze(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  async dispose(): Promise<void> {
    if (this.#server !== undefined) await this.cut();
  }
}
