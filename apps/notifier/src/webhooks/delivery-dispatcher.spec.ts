import { statementsOf } from '@certwright/core-testing';
import { LeasedDeliveries } from './leased-deliveries';
import type { Drain, RunningProcess } from '@certwright/service';
import { eventually } from '@certwright/testing';
import { NotifierDatabase } from '../testing/notifier-database';
import { maxPlaces, maxSlowPlaces, slowAfterMs } from './bounds';
import { DeliverWebhook } from './deliver-webhook';
import { DeliveryDispatcher } from './delivery-dispatcher';
import { PostClient, type PostRequest } from './post.client';

let notifier: NotifierDatabase;
let dispatchers: DeliveryDispatcher[] = [];
let stopping: AbortController;

beforeAll(async () => {
  notifier = await NotifierDatabase.open();
});
afterEach(() => jest.restoreAllMocks());
beforeEach(async () => {
  jest.spyOn(Math, 'random').mockReturnValue(0);
  stopping = new AbortController();
  await notifier.database.query('TRUNCATE webhook_endpoint, webhook_delivery, webhook_attempt, mail CASCADE');
});
afterEach(async () => {
  stopping.abort(new Error('end of the spec'));
  for (const dispatcher of dispatchers) dispatcher.onModuleDestroy();
  await Promise.all(dispatchers.map(async (dispatcher) => await dispatcher.beforeApplicationShutdown()));
  dispatchers = [];
});
afterAll(async () => await notifier.close());

type Answers = (url: string) => Promise<number>;

/** Does not respond until the test ends. */
const never: Answers = async () =>
  await new Promise((_, reject) =>
    stopping.signal.addEventListener('abort', () => reject(stopping.signal.reason)),
  );
const always =
  (status: number): Answers =>
  async () =>
    await Promise.resolve(status);

interface Posted {
  readonly url: string;
  readonly id: string;
}

/** A dispatcher without a sweep: the test observes only what it does by itself. */
function dispatcherOf(answers: Answers, concurrency = 64, deliveries = notifier.leasedDeliveries) {
  const posted: Posted[] = [];
  const underWay = new Map<string, number>();
  const maxAtOnce = new Map<string, number>();
  const errors: unknown[] = [];
  const clock = { nowMs: 0 };
  const post = async ({ url, headers }: PostRequest) => {
    posted.push({ url, id: String(headers['webhook-id']) });
    const now = (underWay.get(url) ?? 0) + 1;
    underWay.set(url, now);
    maxAtOnce.set(url, Math.max(maxAtOnce.get(url) ?? 0, now));
    try {
      return { status: await answers(url), retryAfter: null };
    } finally {
      underWay.set(url, (underWay.get(url) ?? 1) - 1);
    }
  };
  const client = new PostClient({ ALLOWED_NETWORKS: [], DNS_RESOLVERS: [] });
  client.post = post;
  const events = {
    tried: () => undefined,
    leaseLost: () => undefined,
    unexpectedError: (_: unknown, error: unknown) => void errors.push(error),
  };
  const drain = { signal: stopping.signal } as Drain;
  const deliver = new DeliverWebhook(deliveries, client, events, drain, { SEALING_KEYS: notifier.sealing });
  const log = { warn: ({ err }: { readonly err: unknown }) => errors.push(err) };
  const config = { DELIVERY_CONCURRENCY: concurrency };
  const running = { log } as unknown as RunningProcess;
  const dispatcher = new DeliveryDispatcher(deliveries, deliver, running, config);
  dispatcher.nowMs = () => clock.nowMs;
  dispatchers.push(dispatcher);
  const sweep = async () => dispatcher.sweep(await notifier.leasedDeliveries.waiting());
  const total = () => [...underWay.values()].reduce((sum, count) => sum + count, 0);
  return { dispatcher, sweep, posted, maxAtOnce, total, errors, clock };
}

async function endpointWith(count: number, url: string, accountId?: string) {
  const account = accountId ?? (await notifier.account());
  const { id } = await notifier.endpoint(account, url);
  const plan = await notifier.plan(account);
  const ids: string[] = [];
  for (let each = 0; each < count; each += 1) {
    const body = { deliveryId: `msg_${id}-${each}`, body: '{}', event: 'spec', replayOf: `spec/${each}` };
    await notifier.transactions.run(
      async (tx) =>
        await notifier.deliveries.enqueue(tx, {
          ...body,
          accountId: account,
          endpointId: id,
          planId: plan,
          version: 1,
        }),
    );
    ids.push(body.deliveryId);
  }
  return { id, account, ids };
}

const pendingAt = async (urlPart: string): Promise<number> => {
  const [row] = await notifier.database.query<[{ count: number }]>(
    `SELECT count(*)::int AS count FROM webhook_delivery JOIN webhook_endpoint AS endpoint ON endpoint.id = endpoint_id
     WHERE url LIKE $1 AND state = 'pending'`,
    [`%${urlPart}%`],
  );
  return row.count;
};

const patient = { withinMs: 60_000 };

describe('the dispatcher', () => {
  it('begins with the endpoint that has waited longest, however many wait', async () => {
    const requested: string[] = [];
    const deliveries = Object.create(notifier.leasedDeliveries) as LeasedDeliveries;
    deliveries.lease = async (requests) => {
      requested.push(...requests.map(({ endpointId }) => endpointId));
      return await Promise.resolve({ leased: [], retry: [] });
    };
    const { dispatcher } = dispatcherOf(always(200), 64, deliveries);
    dispatcher.sweep(
      Array.from({ length: 10_100 }, (_, nth) => ({
        endpointId: String(nth + 1),
        accountId: String(nth + 1),
        isFailing: false,
        overdueS: 20_000 - nth,
      })),
    );
    await eventually(() => expect(requested.length).toBeGreaterThan(0));
    expect(requested[0]).toBe('1');
  });

  it('fills a slot as soon as it becomes free: one wake-up drains an endpoint without a sweep', async () => {
    const { ids } = await endpointWith(60, 'https://healthy.example.com/');
    const { dispatcher, posted, maxAtOnce, errors } = dispatcherOf(always(204));
    dispatcher.wakeDelivery(ids[0] ?? '');
    await eventually(async () => expect(await pendingAt('healthy')).toBe(0), patient);
    expect(posted.map(({ id }) => id).sort()).toEqual([...ids].sort());
    expect(maxAtOnce.get('https://healthy.example.com/')).toBeLessThanOrEqual(maxPlaces);
    expect(errors).toEqual([]);
  }, 90_000);

  it('delivers one webhook with 10 statements and 3 commits, and 60 with fewer than 3 statements each', async () => {
    const costOf = async (count: number) => {
      const { ids } = await endpointWith(count, `https://of-${count}.example.com/`);
      const { dispatcher, posted } = dispatcherOf(always(204));
      const statements = await statementsOf(async () => {
        dispatcher.wakeDelivery(ids[0] ?? '');
        await eventually(() => expect(posted).toHaveLength(count), patient);
        // The attempts, and what follows them.
        await dispatcher.beforeApplicationShutdown();
        await dispatcher.beforeApplicationShutdown();
      });
      expect(await pendingAt(`of-${count}.`)).toBe(0);
      return statements;
    };
    // The endpoint of a wake-up; a lease; the success, with a commit of its own; a lease that finds nothing more.
    const one = await costOf(1);
    expect(one).toHaveLength(10);
    expect(one.filter((statement) => statement === 'COMMIT')).toHaveLength(2);
    expect((await costOf(60)).length).toBeLessThan(3 * 60);
  });

  it('drains healthy endpoints while a hundred others never respond', async () => {
    for (let dead = 0; dead < 100; dead += 1) await endpointWith(2, `https://dead-${dead}.example.com/`);
    for (let healthy = 0; healthy < 10; healthy += 1)
      await endpointWith(20, `https://healthy-${healthy}.example.com/`);
    const answers: Answers = async (url) => (url.includes('dead') ? await never(url) : 204);
    const { sweep, maxAtOnce, clock } = dispatcherOf(answers, 64);
    // There are fewer slots than endpoints that never respond.
    await sweep();
    await eventually(async () => {
      await sweep();
      clock.nowMs += slowAfterMs;
      expect(await pendingAt('healthy')).toBe(0);
    }, patient);
    expect(await pendingAt('dead')).toBe(200);
    expect(Math.max(...[...maxAtOnce].filter(([url]) => url.includes('dead')).map(([, max]) => max))).toBe(1);
  }, 120_000);

  it('keeps slots for others when fast endpoints stop responding', async () => {
    let isFrozen = false;
    const frozen = [0, 1, 2, 3].map((each) => `https://frozen-${each}.example.com/`);
    for (const url of frozen) await endpointWith(80, url);
    const answers: Answers = async (url) => (isFrozen && url.includes('frozen') ? await never(url) : 204);
    const { sweep, total, clock } = dispatcherOf(answers, 64);
    await sweep();
    await eventually(async () => expect(await pendingAt('frozen')).toBeLessThan(240), patient);
    isFrozen = true;
    await eventually(() => expect(total()).toBe(32), patient);
    clock.nowMs += slowAfterMs;
    await endpointWith(40, 'https://healthy.example.com/');
    await eventually(async () => {
      await sweep();
      expect(await pendingAt('healthy')).toBe(0);
    }, patient);
  }, 120_000);

  it('tries a failing endpoint once per sweep, and drains it after its first success', async () => {
    let status = 500;
    await endpointWith(30, 'https://recovering.example.com/');
    const { sweep, posted } = dispatcherOf(async () => await Promise.resolve(status));
    for (let tries = 1; tries <= 3; tries += 1) {
      await sweep();
      await eventually(async () => {
        expect(await notifier.database.query('SELECT 1 FROM webhook_attempt')).toHaveLength(tries);
      }, patient);
    }
    expect(posted).toHaveLength(3);
    status = 204;
    await sweep();
    // The three that failed are due in 5 s.
    await eventually(async () => expect(await pendingAt('recovering')).toBeLessThanOrEqual(3), patient);
  }, 90_000);

  it('gives a slow endpoint few slots', async () => {
    await endpointWith(30, 'https://slow.example.com/');
    const { sweep, maxAtOnce, clock } = dispatcherOf(async () => {
      clock.nowMs += slowAfterMs;
      return await Promise.resolve(204);
    });
    await eventually(async () => {
      await sweep();
      expect(await pendingAt('slow')).toBe(0);
    }, patient);
    expect(maxAtOnce.get('https://slow.example.com/')).toBeLessThanOrEqual(maxSlowPlaces);
  }, 90_000);

  it('sends each delivery once, with any number of processes', async () => {
    const { ids } = await endpointWith(100, 'https://healthy.example.com/');
    const copies = [dispatcherOf(always(204)), dispatcherOf(always(204)), dispatcherOf(always(204))];
    await eventually(async () => {
      for (const { sweep } of copies) await sweep();
      expect(await pendingAt('healthy')).toBe(0);
    }, patient);
    expect(copies.flatMap(({ posted }) => posted.map(({ id }) => id)).sort()).toEqual([...ids].sort());
  }, 90_000);

  it('continues with the next sweep after the database was unavailable', async () => {
    const { ids } = await endpointWith(3, 'https://healthy.example.com/');
    const broken = Object.create(notifier.leasedDeliveries) as LeasedDeliveries;
    let isUnavailable = true;
    broken.lease = async (...lease) => {
      if (isUnavailable) throw new Error('no database');
      return await notifier.leasedDeliveries.lease(...lease);
    };
    const { dispatcher, sweep, errors, posted } = dispatcherOf(always(204), 64, broken);
    dispatcher.wakeDelivery(ids[0] ?? '');
    await eventually(() => expect(errors).toHaveLength(1));
    isUnavailable = false;
    await sweep();
    await eventually(async () => expect(await pendingAt('healthy')).toBe(0), patient);
    expect(posted).toHaveLength(3);
  }, 90_000);

  it('leases for others while fast endpoints cannot be leased', async () => {
    const quick: string[] = [];
    for (let each = 0; each < 12; each += 1) {
      quick.push((await endpointWith(40, `https://quick-${each}.example.com/`)).id);
    }
    const partly = Object.create(notifier.leasedDeliveries) as LeasedDeliveries;
    let isLocked = false;
    partly.lease = async (requests, ...others) => {
      if (!isLocked) return await notifier.leasedDeliveries.lease(requests, ...others);
      const possible = requests.filter(({ endpointId }) => !quick.includes(endpointId));
      const { leased, retry } = await notifier.leasedDeliveries.lease(possible, ...others);
      return { leased, retry: [...retry, ...quick] };
    };
    let answered = 0;
    const { sweep } = dispatcherOf(
      async () => {
        // By then all of them are fast, and have many deliveries left.
        isLocked ||= (answered += 1) >= 120;
        return await Promise.resolve(204);
      },
      256,
      partly,
    );
    await sweep();
    await eventually(() => expect(isLocked).toBe(true), patient);
    await endpointWith(3, 'https://healthy.example.com/');
    await eventually(async () => {
      await sweep();
      expect(await pendingAt('healthy')).toBe(0);
    }, patient);
    expect(await pendingAt('quick')).toBeGreaterThan(0);
  }, 120_000);

  describe('reports how long deliveries wait for the platform', () => {
    const overdue = { accountId: '1', isFailing: false, overdueS: 1_308 };

    it('ignores endpoints that are failing, slow, or being tried for the first time', async () => {
      const { id, account } = await endpointWith(2, 'https://dead.example.com/');
      const { dispatcher, sweep, total, clock } = dispatcherOf(never);
      const own = { ...overdue, endpointId: id, accountId: account };
      expect(dispatcher.longestWaitS([own])).toBe(1_308);
      expect(dispatcher.longestWaitS([{ ...own, isFailing: true }])).toBe(0);
      await sweep();
      await eventually(() => expect(total()).toBe(1));
      expect(dispatcher.longestWaitS([own])).toBe(0);
      clock.nowMs += slowAfterMs;
      expect(dispatcher.longestWaitS([own])).toBe(0);
      expect(dispatcher.longestWaitS([own, { ...overdue, endpointId: '5', overdueS: 7 }])).toBe(7);
    });

    it('is 0 when nothing waits', () => {
      expect(dispatcherOf(never).dispatcher.longestWaitS([])).toBe(0);
    });
  });
});
