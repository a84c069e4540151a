import { eventually, severableLink, testRedis, type TestRedis } from '@certwright/testing';
import type { RedisLog } from '@certwright/redis-client';
import { OutboxNews, OutboxNewsListener } from './outbox-news';

/** A machine that is busy with other specs. */
const patience = { withinMs: 20_000 };
jest.setTimeout(60_000);

const log: RedisLog = { warn: () => undefined, info: () => undefined };

let redis: TestRedis;
const closing: (() => Promise<void>)[] = [];
beforeAll(async () => {
  redis = await testRedis();
});
afterAll(async () => await redis.dispose());
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** @returns what a commit does */
function publisher(url = redis.url): () => void {
  let committed: (() => void) | undefined;
  const commits = { onCommitted: (listener: () => void) => (committed = listener) };
  const news = new OutboxNews(redis.accessAt(url), commits, { name: 'spec', log });
  closing.push(async () => await news.close());
  return () => committed?.();
}

function opened(url = redis.url): OutboxNewsListener {
  const listening = new OutboxNewsListener(redis.accessAt(url), { name: 'spec', log });
  closing.push(async () => await listening.close());
  return listening;
}

function heardBy(listening: OutboxNewsListener): { news: number } {
  const heard = { news: 0 };
  listening.onNews(() => (heard.news += 1));
  return heard;
}

const listener = (url?: string) => heardBy(opened(url));

/** The publisher's own connection is made. */
async function announced(commit: () => void, heard: { readonly news: number }): Promise<void> {
  const before = heard.news;
  await eventually(() => {
    commit();
    expect(heard.news).toBeGreaterThan(before);
  }, patience);
}

/** Longer than the pause after an event. */
const quiet = async () => await new Promise((resolve) => setTimeout(resolve, 200));

describe('news of the outbox', () => {
  it('reaches the relays of every process', async () => {
    const [one, other] = [listener(), listener()];
    await eventually(() => expect([one.news, other.news]).toEqual([1, 1]), patience);
    const commit = publisher();
    await announced(commit, one);
    await quiet();
    const [before, ofOther] = [one.news, other.news];
    commit();
    await eventually(() => expect([one.news, other.news]).toEqual([before + 1, ofOther + 1]), patience);
  });

  it('reaches a relay that begins to listen when its connection is ready already', async () => {
    const late = opened();
    await quiet();
    const heard = heardBy(late);
    await announced(publisher(), heard);
  });

  it('of many commits is published at once and together, and none is forgotten', async () => {
    const heard = listener();
    const commit = publisher();
    await announced(commit, heard);
    await quiet();
    const before = heard.news;
    for (let n = 0; n < 1_000; n += 1) commit();
    await quiet();
    // The first, and the rest after the pause.
    expect(heard.news).toBe(before + 2);
  });

  it('that was lost is made up for when the subscription is active again', async () => {
    const target = new URL(redis.url);
    const link = await severableLink({ host: target.hostname, port: Number(target.port) });
    closing.push(async () => await link.close());
    target.port = String(link.port);
    const heard = listener(target.href);
    await eventually(() => expect(heard.news).toBe(1), patience);
    link.cut();
    const commit = publisher();
    commit();
    await quiet();
    expect(heard.news).toBe(1);
    link.restore();
    await eventually(() => expect(heard.news).toBeGreaterThan(1), patience);
  });

  it('does no harm while Redis is unavailable', async () => {
    const commit = publisher('redis://127.0.0.1:1');
    for (let n = 0; n < 3; n += 1) {
      commit();
      await quiet();
    }
  });
});
