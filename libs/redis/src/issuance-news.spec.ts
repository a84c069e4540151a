import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { eventually, severableLink, testRedis, type TestRedis } from '@certwright/testing';
import type { Redis, RedisLog } from '@certwright/redis-client';
import { IssuanceNews, issuanceNewsChannel } from './issuance-news';
import { IssuanceNewsListener } from './issuance-news-listener';

/** A machine that is busy with other specs. */
const patience = { withinMs: 20_000 };
jest.setTimeout(60_000);

let redis: TestRedis;
let channel: string;
let raw: Redis;
const closing: (() => Promise<void>)[] = [];
const lines: string[] = [];
const log: RedisLog = {
  warn: (_members, message) => void lines.push(message),
  info: (_members, message) => void lines.push(message),
};

beforeAll(async () => {
  redis = await testRedis();
  // Channels know no databases.
  channel = issuanceNewsChannel(redis.access);
  raw = redis.connect();
});
afterAll(async () => {
  await redis.dispose();
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  lines.length = 0;
});

function publisher(url = redis.url): IssuanceNews {
  const news = new IssuanceNews(redis.accessAt(url), { name: 'spec-news', log });
  closing.push(async () => await news.close());
  return news;
}

/** Pings its connection often. */
function listener(url = redis.url, name = 'spec-listener'): IssuanceNewsListener {
  const listening = new IssuanceNewsListener(redis.accessAt(url), { name, log, pingEveryMs: 100 });
  closing.push(async () => await listening.close());
  return listening;
}

/** How often each issuance was heard of. */
class Heard {
  readonly times = new Map<string, number>();
  reconnections = 0;

  constructor(readonly listening: IssuanceNewsListener) {
    listening.onReconnected(() => (this.reconnections += 1));
  }

  on(id: string): () => void {
    return this.listening.on(id, () => this.times.set(id, this.of(id) + 1));
  }

  of(id: string): number {
    return this.times.get(id) ?? 0;
  }

  /** Until it is subscribed, once more. */
  async connected(times = 1): Promise<void> {
    await eventually(() => expect(this.reconnections).toBe(times), patience);
  }
}

/** News goes out once the publisher's own connection is made. */
async function announced(news: IssuanceNews, heard: Heard, id: string): Promise<void> {
  const end = heard.on(id);
  await eventually(() => {
    news.publish(id);
    expect(heard.of(id)).toBeGreaterThan(0);
  }, patience);
  end();
}

describe('news of an issuance', () => {
  it('wakes all listeners of it in every process, and no others', async () => {
    const news = publisher();
    const [one, other] = [new Heard(listener()), new Heard(listener())];
    await Promise.all([one.connected(), other.connected()]);
    await announced(news, one, 'warm-up');
    one.on('1');
    one.on('1');
    other.on('1');
    other.on('2');
    news.publish('1');
    await eventually(() => expect([one.of('1'), other.of('1')]).toEqual([2, 1]), patience);
    expect(other.of('2')).toBe(0);
  });

  it('wakes no listener that has stopped, even when stopped twice', async () => {
    const news = publisher();
    const heard = new Heard(listener());
    await heard.connected();
    const end = heard.on('1');
    end();
    heard.on('1');
    end();
    news.publish('1');
    await announced(news, heard, '2');
    news.publish('1');
    await eventually(() => expect(heard.of('1')).toBeGreaterThan(0), patience);
    expect(heard.of('1')).toBeLessThanOrEqual(2);
  });

  it('reaches thousands over one connection', async () => {
    const news = publisher();
    const heard = new Heard(listener(redis.url, 'spec-thousands'));
    await heard.connected();
    await announced(news, heard, 'warm-up');
    const ids = Array.from({ length: 5_000 }, (_, n) => String(1_000_000 + n));
    const ends = ids.map((id) => heard.on(id));
    for (const id of ids) news.publish(id);
    await eventually(() => expect(ids.filter((id) => heard.of(id) === 1)).toHaveLength(5_000), patience);
    const clients = (await raw.client('LIST')) as string;
    expect(clients.match(/name=spec-thousands /g)).toHaveLength(1);
    for (const end of ends) end();
  });

  it('that is unreadable wakes no listener and does no harm', async () => {
    const news = publisher();
    const heard = new Heard(listener());
    await heard.connected();
    heard.on('5');
    for (const text of ['{', '7', '"5"', '{"5":1}', '[5,null,["5"]]', '']) await raw.publish(channel, text);
    await announced(news, heard, '6');
    expect(heard.of('5')).toBe(0);
  });

  it('reaches the others when one who waits throws', async () => {
    const news = publisher();
    const heard = new Heard(listener());
    await heard.connected();
    heard.listening.on('1', () => {
      throw new Error('of its own');
    });
    heard.on('1');
    await announced(news, heard, '1');
    expect(lines).toContain('a listener to news of issuances failed');
  });
});

describe('publishing', () => {
  it('never waits and never throws, and what is too much at once is lost', async () => {
    const news = publisher();
    const heard = new Heard(listener());
    await heard.connected();
    await announced(news, heard, 'warm-up');
    const ids = Array.from({ length: 12_000 }, (_, n) => String(n));
    for (const id of ids) heard.on(id);
    for (const id of ids) news.publish(id);
    await eventually(() => expect(heard.of('9999')).toBe(1), patience);
    await announced(news, heard, 'afterwards');
    // 10,000 wait for their turn; the first may have gone out at once.
    expect([10_000, 10_001]).toContain(ids.filter((id) => heard.of(id) > 0).length);
  });

  it('loses messages while Redis is unavailable, and continues when it is back', async () => {
    const link = await linkToRedis();
    const news = publisher(link.url);
    const heard = new Heard(listener());
    await heard.connected();
    await announced(news, heard, '1');
    link.cut();
    await eventually(() => expect(lines).toContain('Redis is unavailable'), patience);
    heard.on('2');
    for (let n = 0; n < 1_000; n += 1) news.publish('2');
    link.restore();
    await announced(news, heard, '3');
    expect(heard.of('2')).toBe(0);
  });

  it('works where Redis was never there, and can be closed', async () => {
    const link = await linkToRedis();
    link.cut();
    const news = publisher(link.url);
    news.publish('1');
    await news.close();
    news.publish('2');
  });
});

describe('a listener', () => {
  it('that was cut off reconnects, and listeners are notified', async () => {
    const link = await linkToRedis();
    const news = publisher();
    const heard = new Heard(listener(link.url));
    await heard.connected();
    heard.on('1');
    for (let time = 2; time <= 4; time += 1) {
      link.cut();
      news.publish('1');
      link.restore();
      await heard.connected(time);
      await announced(news, heard, `after ${time}`);
    }
  });

  it('connects when Redis comes later', async () => {
    const link = await linkToRedis();
    link.cut();
    const heard = new Heard(listener(link.url));
    await eventually(() => expect(lines).toContain('Redis is unavailable'), patience);
    expect(heard.reconnections).toBe(0);
    link.restore();
    await heard.connected();
    await announced(publisher(), heard, '1');
  });

  it('finds out by itself that nothing comes through its connection any more', async () => {
    const line = await freezableLine();
    const heard = new Heard(listener(line.url));
    await heard.connected();
    line.freeze();
    await heard.connected(2);
    await announced(publisher(), heard, '1');
  });

  it('subscribes again when Redis does not respond to the subscription of a new connection', async () => {
    const line = await freezableLine();
    const heard = new Heard(listener(line.url));
    await heard.connected();
    const rejected = jest.fn();
    process.on('unhandledRejection', rejected);
    try {
      line.loseNextSubscription();
      await heard.connected(2);
      await announced(publisher(), heard, '1');
    } finally {
      process.off('unhandledRejection', rejected);
    }
    expect(lines).toContain('cannot subscribe to events');
    expect(rejected).not.toHaveBeenCalled();
  });

  it('keeps a connection that works, however often it is asked', async () => {
    const heard = new Heard(listener(redis.url, 'spec-steady'));
    await heard.connected();
    await eventually(async () => {
      const clients = (await raw.client('LIST')) as string;
      // Many answers, and longer than the time in which one must come.
      expect(Number(/name=spec-steady age=(\d+)/.exec(clients)?.[1])).toBeGreaterThan(1);
    }, patience);
    expect(heard.reconnections).toBe(1);
    expect(lines).toEqual([]);
  });

  it('that is closed stays closed, and stopped listeners are not notified', async () => {
    const heard = new Heard(new IssuanceNewsListener(redis.access, { name: 'spec-closed', log }));
    await heard.connected();
    const once = new Heard(listener());
    const end = once.listening.onReconnected(() => expect('called').toBe('never'));
    end();
    await once.connected();
    await heard.listening.close();
    await eventually(async () => {
      expect(await raw.client('LIST')).not.toContain('name=spec-closed');
    }, patience);
    expect(heard.reconnections).toBe(1);
  });
});

async function linkToRedis() {
  const { hostname: host, port, pathname } = new URL(redis.url);
  const link = await severableLink({ host, port: Number(port) });
  closing.push(async () => await link.close());
  return Object.assign(link, { url: `redis://127.0.0.1:${link.port}${pathname}` });
}

interface FreezableLine {
  readonly url: string;
  readonly freeze: () => void;
  /** Cuts the line; the next one lets nothing back through from its first subscription on. */
  readonly loseNextSubscription: () => void;
}

/** A line that stays open and lets nothing through once it is frozen; new ones are good. */
async function freezableLine(): Promise<FreezableLine> {
  const target = new URL(redis.url);
  const sockets = new Set<Socket>();
  let losesNext = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    if (losesNext) near.on('data', (data) => void (data.includes('subscribe') && far.unpipe(near)));
    losesNext = false;
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const freeze = () => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  const loseNextSubscription = () => {
    losesNext = true;
    for (const socket of sockets) socket.destroy();
  };
  return { url: `redis://127.0.0.1:${port}${target.pathname}`, freeze, loseNextSubscription };
}
