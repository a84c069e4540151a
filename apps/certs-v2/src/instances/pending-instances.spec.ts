import { eventually } from '@certwright/testing';
import {
  type InstanceNews,
  PendingInstances,
  type PendingInstancesOptions,
  type Waiting,
} from './pending-instances';

jest.setTimeout(30_000);

/** News as from Redis: delivered to current listeners, or lost. */
class FakeNews implements InstanceNews {
  readonly listeners = new Map<string, Set<() => void>>();
  readonly reconnected = new Set<() => void>();

  on(issuanceId: string, listener: () => void): () => void {
    const all = this.listeners.get(issuanceId) ?? new Set();
    this.listeners.set(issuanceId, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0) this.listeners.delete(issuanceId);
    };
  }

  onReconnected(listener: () => void): () => void {
    this.reconnected.add(listener);
    return () => void this.reconnected.delete(listener);
  }

  publish(issuanceId: string): void {
    for (const listener of this.listeners.get(issuanceId) ?? []) listener();
  }
}

let news: FakeNews;
let closed: Set<string>;
/** Ids of each lookup. */
let lookups: (readonly string[])[];
let failures: unknown[];
const opened: PendingInstances[] = [];
const farFutureMs = 3_600_000;

beforeEach(() => {
  news = new FakeNews();
  closed = new Set();
  lookups = [];
  failures = [];
});
afterEach(() => opened.splice(0).forEach((pending) => pending.close()));

/** Has no periodic lookups, unless a spec is about them. */
function pendingInstances(options: Partial<PendingInstancesOptions> = {}): PendingInstances {
  const pending = new PendingInstances({
    news,
    closedAmong: async (ids) => {
      lookups.push(ids);
      return await Promise.resolve(ids.filter((id) => closed.has(id)));
    },
    onFailure: (error) => void failures.push(error),
    lookupIntervalMs: farFutureMs,
    ...options,
  });
  opened.push(pending);
  return pending;
}

const waiting = (issuanceId: string, change: Partial<Waiting> = {}): Waiting => ({
  issuanceId,
  accountId: '1',
  forMs: farFutureMs,
  onDisconnect: () => undefined,
  ...change,
});

/** Until the running lookups are done. */
const settled = () => new Promise(setImmediate);

describe('a client that waits for a pending instance', () => {
  it('ends when an event arrives and the database has it closed', async () => {
    const pending = pendingInstances();
    const end = pending.wait(waiting('7'));
    await settled();
    news.publish('7');
    await settled();
    expect([pending.count, lookups]).toEqual([1, [['7'], ['7']]]);
    closed.add('7');
    news.publish('7');
    expect(await end).toBe('closed');
    expect([pending.count, news.listeners.size]).toEqual([0, 0]);
  });

  it('ends, without any event, when it closed between reading its row and the wait', async () => {
    closed.add('7');
    expect(await pendingInstances().wait(waiting('7'))).toBe('closed');
  });

  it('ignores events of others', async () => {
    const pending = pendingInstances();
    const ends: string[] = [];
    void pending.wait(waiting('7')).then((end) => ends.push(`7 ${end}`));
    void pending.wait(waiting('8')).then((end) => ends.push(`8 ${end}`));
    closed.add('8');
    news.publish('8');
    await settled();
    expect([ends, pending.count]).toEqual([['8 closed'], 1]);
  });

  it('is found by the periodic lookup when all news is lost', async () => {
    const pending = pendingInstances({ lookupIntervalMs: 1 });
    const end = pending.wait(waiting('7'));
    await settled();
    closed.add('7');
    expect(await end).toBe('closed');
  });

  it('is looked up at once when the news listener reconnects', async () => {
    const pending = pendingInstances();
    const ends = ['7', '8', '9'].map((id) => pending.wait(waiting(id)));
    await settled();
    lookups.length = 0;
    ['7', '8', '9'].forEach((id) => closed.add(id));
    for (const reconnected of news.reconnected) reconnected();
    expect(await Promise.all(ends)).toEqual(['closed', 'closed', 'closed']);
    expect(lookups).toEqual([['7', '8', '9']]);
  });

  it('never exceeds its time limit', async () => {
    const pending = pendingInstances();
    const begun = performance.now();
    const ends = await Promise.all([
      pending.wait(waiting('7', { forMs: 600 })),
      pending.wait(waiting('8', { forMs: 600 })),
    ]);
    expect(ends).toEqual(['timeout', 'timeout']);
    expect(performance.now() - begun).toBeGreaterThan(300);
    expect(pending.count).toBe(0);
  });

  it('is removed at once when the client disconnects', async () => {
    const pending = pendingInstances();
    let disconnect = (): void => undefined;
    const end = pending.wait(
      waiting('7', { onDisconnect: (disconnected) => void (disconnect = disconnected) }),
    );
    const other = pending.wait(waiting('7'));
    disconnect();
    expect(await end).toBe('disconnected');
    expect(pending.count).toBe(1);
    closed.add('7');
    news.publish('7');
    expect(await other).toBe('closed');
    disconnect();
    expect([pending.count, news.listeners.size]).toEqual([0, 0]);
  });

  it('is not kept when the client disconnected before the wait began', async () => {
    const pending = pendingInstances();
    expect(await pending.wait(waiting('7', { onDisconnect: (disconnected) => disconnected() }))).toBe(
      'disconnected',
    );
    expect([pending.count, news.listeners.size]).toEqual([0, 0]);
  });
});

describe('many clients', () => {
  it('cost one statement at a time, whatever comes meanwhile', async () => {
    let release: () => void = () => undefined;
    const pending = pendingInstances({
      closedAmong: async (ids) => {
        lookups.push(ids);
        await new Promise<void>((resolve) => (release = resolve));
        return ids.filter((id) => closed.has(id));
      },
    });
    const ids = Array.from({ length: 500 }, (_, index) => String(index));
    const ends = ids.flatMap((id) => [pending.wait(waiting(id)), pending.wait(waiting(id))]);
    expect(lookups.map(({ length }) => length)).toEqual([1]);
    for (const id of ids) {
      closed.add(id);
      news.publish(id);
    }
    release();
    await eventually(() => expect(lookups.map(({ length }) => length)).toEqual([1, 500]));
    release();
    expect(new Set(await Promise.all(ends))).toEqual(new Set(['closed']));
    expect(lookups).toHaveLength(2);
  });

  it('survive an outage of the database', async () => {
    let isUnavailable = true;
    const pending = pendingInstances({
      lookupIntervalMs: 1,
      closedAmong: async (ids) =>
        isUnavailable ? await Promise.reject(new Error('unavailable')) : await Promise.resolve(ids),
    });
    const end = pending.wait(waiting('7'));
    await eventually(() => expect(failures.length).toBeGreaterThan(1));
    isUnavailable = false;
    expect(await end).toBe('closed');
  });

  it('all get a response when the process stops, and none waits from then on', async () => {
    const pending = pendingInstances();
    const ends = ['7', '8', '8'].map((id) => pending.wait(waiting(id)));
    pending.close();
    expect(await Promise.all(ends)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await pending.wait(waiting('9'))).toBe('rejected');
    expect([pending.count, news.reconnected.size]).toEqual([0, 0]);
  });

  it('are as many as the process takes, and no account takes all places', async () => {
    const pending = pendingInstances({ maxWaiting: 4, maxPerAccount: 3 });
    const wait = (accountId: string) => pending.wait(waiting('7', { accountId }));
    const kept = ['1', '1', '1'].map(wait);
    expect(await wait('1')).toBe('rejected');
    kept.push(wait('2'));
    expect(await wait('3')).toBe('rejected');
    closed.add('7');
    news.publish('7');
    expect(await Promise.all(kept)).toEqual(Array(4).fill('closed'));
    closed.clear();
    const again = wait('1');
    expect(pending.count).toBe(1);
    closed.add('7');
    news.publish('7');
    expect(await again).toBe('closed');
  });
});
