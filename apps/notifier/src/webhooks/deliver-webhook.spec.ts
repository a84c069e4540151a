import { type DnsName, DnsServer, parseName } from '@certwright/dns-authority';
import type { ResolverAddress } from '@certwright/outbound';
import type { Drain } from '@certwright/service';
import { eventually } from '@certwright/testing';
import { Webhook } from 'standardwebhooks';
import { NotifierDatabase } from '../testing/notifier-database';
import { Sink } from '../testing/sinks';
import { deliveryBounds } from './bounds';
import { DeliverWebhook, leaseMs } from './deliver-webhook';
import type { LeasedDeliveries } from './leased-deliveries';
import { reasons } from './next-try';
import { PostClient } from './post.client';

/** Instead of 15 s, for a server that does not respond. */
const shortMs = 400;

let notifier: NotifierDatabase;
let account: string;
const sinks: Sink[] = [];
const unexpectedErrors: unknown[] = [];
beforeAll(async () => {
  notifier = await NotifierDatabase.open();
  account = await notifier.account();
});
afterEach(async () => {
  await Promise.all(sinks.splice(0).map(async (sink) => await sink.close()));
});
afterAll(async () => await notifier.close());
afterEach(() => jest.restoreAllMocks());
beforeEach(async () => {
  jest.spyOn(Math, 'random').mockReturnValue(0);
  unexpectedErrors.length = 0;
  await notifier.database.query('TRUNCATE webhook_endpoint, webhook_delivery, webhook_attempt, mail CASCADE');
});

interface Setup {
  /** Number of writes that fail because of the database. */
  readonly outages?: number;
  /** Why; by default it is unreachable. */
  readonly outageCode?: string;
  readonly allowedNetworks?: readonly string[];
  readonly resolvers?: readonly ResolverAddress[];
  readonly stopping?: AbortSignal;
  readonly timeoutMs?: number;
}

function deliverer({
  allowedNetworks = ['127.0.0.0/8'],
  resolvers = [],
  stopping = new AbortController().signal,
  outages = 0,
  outageCode = 'ECONNREFUSED',
  timeoutMs = 20_000,
}: Setup = {}) {
  const client = new PostClient({ ALLOWED_NETWORKS: allowedNetworks, DNS_RESOLVERS: resolvers });
  const post = client.post.bind(client);
  client.post = async (request) => await post({ ...request, timeoutMs });
  const { leasedDeliveries } = notifier;
  let left = outages;
  const deliveries = Object.create(leasedDeliveries) as LeasedDeliveries;
  deliveries.recordDelivered = async (delivered) => {
    if (left-- > 0) throw Object.assign(new Error('refused'), { code: outageCode });
    return await leasedDeliveries.recordDelivered(delivered);
  };
  const events = {
    tried: () => undefined,
    leaseLost: () => undefined,
    unexpectedError: (_: unknown, error: unknown) => void unexpectedErrors.push(error),
  };
  const config = { SEALING_KEYS: notifier.sealing };
  const deliver = new DeliverWebhook(deliveries, client, events, { signal: stopping } as Drain, config);
  /** Leases the delivery if possible, and tries it. */
  const run = async (id: string) => {
    const waiting = await notifier.leasedDeliveries.waitingAt([id]);
    const requests = waiting.map(({ endpointId }) => ({ endpointId, max: 1 }));
    const { leased } = await notifier.leasedDeliveries.lease(requests, leaseMs, deliveryBounds);
    return await Promise.all(leased.map(async (each) => await deliver.run(each)));
  };
  return { run };
}

async function sinkThat(sink: Promise<Sink>): Promise<Sink> {
  sinks.push(await sink);
  return await sink;
}

async function delivery(url: string, credentials: string | null = null) {
  const endpoint = await notifier.endpoint(account, url, credentials);
  const id = await notifier.deliver(account, endpoint.id, await notifier.plan(account));
  const look = async () => {
    const logged = await notifier.log.get(account, endpoint.id, id);
    if (logged === null) throw new Error('no such delivery');
    const [attempt] = logged.attempts;
    const dueInMs = (logged.nextAttemptAt?.getTime() ?? 0) - Date.now();
    return { ...logged, attempt, dueInMs, endpoint: await notifier.endpoints.get(account, endpoint.id) };
  };
  return { id, endpoint, look };
}

describe('a delivery', () => {
  it('posts exactly the stored body, signed, with id, event and credentials', async () => {
    const sink = await sinkThat(Sink.answering((_, response) => response.writeHead(204).end()));
    const { id, endpoint, look } = await delivery(sink.url, 'user:pass');
    await deliverer().run(id);
    expect(sink.received).toHaveLength(1);
    const { body, headers } = sink.received[0] ?? { body: '', headers: {} };
    expect(body).toBe('{"name":"a"}');
    expect(headers).toMatchObject({
      'webhook-id': id,
      'idempotency-key': id,
      'webhook-event': 'spec',
      'content-type': 'application/json',
      authorization: `Basic ${Buffer.from('user:pass').toString('base64')}`,
    });
    new Webhook(endpoint.secret).verify(body, headers as Record<string, string>);
    expect(await look()).toMatchObject({ state: 'delivered', attempt: { status: 204, problem: null } });
    await deliverer().run(id);
    expect(sink.received).toHaveLength(1);
  });

  it('follows no redirect: it fails with a message that says what to do', async () => {
    const target = await sinkThat(Sink.answering((_, response) => response.end()));
    const sink = await sinkThat(
      Sink.answering((_, response) => response.writeHead(302, { location: target.url }).end()),
    );
    const { id, look } = await delivery(sink.url);
    await deliverer().run(id);
    expect(target.received).toEqual([]);
    expect(await look()).toMatchObject({
      state: 'pending',
      attempt: { status: 302, problem: expect.stringContaining('Redirects are not followed') },
    });
  });

  it.each([
    [
      'never answers',
      (socket: { resume: () => unknown }) => void socket.resume(),
      /no complete response within/,
      true,
    ],
    [
      'says 200 and resets the connection in the middle of the body',
      (socket: import('node:net').Socket) =>
        void socket.once('data', () =>
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', () => socket.resetAndDestroy()),
        ),
      /closed before the response was complete/,
      false,
    ],
    [
      'speaks no HTTP',
      (socket: import('node:net').Socket) => void socket.end('220 smtp ready\r\n'),
      /not HTTP/,
      false,
    ],
    [
      'responds one byte at a time',
      (socket: import('node:net').Socket) => {
        const timer = setInterval(() => socket.write('H'), 50);
        socket.once('close', () => clearInterval(timer));
      },
      /response is not HTTP|no complete response/,
      true,
    ],
  ])('to a server that %s fails, and is retried in 5 s', async (_, talk, problem, isSlow) => {
    const sink = await sinkThat(Sink.saying(talk));
    const { id, look } = await delivery(sink.url);
    const begunAt = Date.now();
    await deliverer({ timeoutMs: isSlow ? shortMs : undefined }).run(id);
    const { state, attempt, dueInMs, nextAttemptAt, endpoint } = await look();
    expect(state).toBe('pending');
    expect(attempt).toMatchObject({ status: null, problem: expect.stringMatching(problem) });
    expect(nextAttemptAt?.getTime()).toBeGreaterThan(begunAt + 3_000);
    expect(dueInMs).toBeLessThanOrEqual(5_000);
    expect(endpoint?.failingSince).not.toBeNull();
  });

  it.each([
    ['of monitoring is retried, though it has no plan', 'monitoring.unknown_certificate', 'pending'],
    ['of a test is tried once', 'test', 'failed'],
  ])('%s', async (_what, event, state) => {
    const sink = await sinkThat(Sink.answering((_, response) => response.writeHead(500).end()));
    const { id, look } = await delivery(sink.url);
    await notifier.database.query(
      `UPDATE webhook_delivery SET plan_id = NULL, version = 0, event = $2 WHERE id = $1`,
      [id, event],
    );
    await deliverer().run(id);
    expect(await look()).toMatchObject({ event, state, attempt: { status: 500 } });
  });

  it('waits as long as Retry-After requires', async () => {
    const sink = await sinkThat(
      Sink.answering((_, response) => response.writeHead(429, { 'retry-after': '3600' }).end()),
    );
    const { id, look } = await delivery(sink.url);
    await deliverer().run(id);
    expect((await look()).dueInMs).toBeGreaterThan(3_590_000);
  });

  it('that gets 410 disables the endpoint at once, with a mail', async () => {
    const sink = await sinkThat(Sink.answering((_, response) => response.writeHead(410).end()));
    const { id, endpoint, look } = await delivery(sink.url);
    await deliverer().run(id);
    expect(await look()).toMatchObject({
      state: 'failed',
      endpoint: { enabled: false, disabledReason: reasons.gone },
    });
    expect(await notifier.database.query(`SELECT kind, facts FROM mail`)).toEqual([
      { kind: 'webhook-disabled', facts: { endpointId: endpoint.id } },
    ]);
  });

  it('with no attempts left disables the endpoint, with a mail', async () => {
    const sink = await sinkThat(Sink.answering((_, response) => response.writeHead(500).end()));
    const { id, look } = await delivery(sink.url);
    await notifier.database.query(`UPDATE webhook_delivery SET attempts = 9`);
    await deliverer().run(id);
    expect(await look()).toMatchObject({ state: 'failed', endpoint: { disabledReason: reasons.outOfTries } });
    expect(await notifier.database.query(`SELECT kind FROM mail`)).toHaveLength(1);
  });

  it.each([
    'http://127.0.0.1:8009/',
    'http://[::ffff:127.0.0.1]:8009/',
    'http://2130706433:8009/',
    'http://169.254.169.254/',
  ])('to %s is refused before any connection, unless the operator allows its network', async (url) => {
    const { id, look } = await delivery(url);
    await deliverer({ allowedNetworks: [] }).run(id);
    expect((await look()).attempt).toMatchObject({
      status: null,
      problem: expect.stringContaining('not public'),
    });
  });

  it('to a name that resolves to a special address is refused after resolution', async () => {
    const sink = await sinkThat(Sink.answering((_, response) => response.end()));
    const name = parseName('hooks.example.com') as DnsName;
    const records = [{ name, type: 'A', ttl: 1, data: '127.0.0.1' }] as const;
    const dns = new DnsServer({
      host: '127.0.0.1',
      port: 0,
      source: {
        read: async () =>
          await Promise.resolve({
            apex: parseName('example.com') as DnsName,
            recordsAt: (at) => (at === name ? records : []),
          }),
      },
    });
    const resolvers = [await dns.listen()];
    try {
      const url = sink.url.replace('127.0.0.1', 'hooks.example.com');
      const { id, look } = await delivery(url);
      await deliverer({ allowedNetworks: [], resolvers }).run(id);
      expect((await look()).attempt?.problem).toMatch(/hooks.example.com has an address that is not public/);
      expect(sink.maxAtOnce).toBe(0);
      const allowed = await delivery(url);
      await deliverer({ resolvers }).run(allowed.id);
      expect(await allowed.look()).toMatchObject({ state: 'delivered' });
    } finally {
      await dns.close();
    }
  });

  it.each([
    ['superseded', `UPDATE webhook_delivery SET state = 'superseded', finished_at = now()`],
    ['canceled', `UPDATE webhook_delivery SET state = 'canceled', finished_at = now()`],
    ['for an endpoint that is disabled', `UPDATE webhook_endpoint SET enabled = false`],
  ])('%s sends nothing', async (_, change) => {
    const sink = await sinkThat(Sink.answering((_request, response) => response.end()));
    const { id } = await delivery(sink.url);
    await notifier.database.query(change);
    await deliverer().run(id);
    expect(sink.maxAtOnce).toBe(0);
  });

  it('resets the health of an endpoint that was failing', async () => {
    const sink = await sinkThat(Sink.answering((_, response) => response.end()));
    const { id, look } = await delivery(sink.url);
    await notifier.database.query(`UPDATE webhook_endpoint SET failing_since = now(), failed_at = now()`);
    expect(await deliverer().run(id)).toMatchObject([{ isDelivered: true }]);
    expect(await look()).toMatchObject({ state: 'delivered', endpoint: { failingSince: null } });
  });

  it('that is aborted by the end of the process is not counted as an attempt, and can be leased again', async () => {
    const sink = await sinkThat(Sink.saying((socket) => void socket.resume()));
    const { id, look } = await delivery(sink.url);
    const stopping = new AbortController();
    const running = deliverer({ stopping: stopping.signal }).run(id);
    await eventually(() => expect(sink.maxAtOnce).toBe(1));
    stopping.abort(new Error('stopping'));
    expect(await running).toEqual([null]);
    expect(await look()).toMatchObject({ state: 'pending', attempts: [] });
    expect(await notifier.leasedDeliveries.waitingAt([id])).toHaveLength(1);
    expect(unexpectedErrors).toEqual([]);
  });

  it.each([
    ['the database is back', 'ECONNREFUSED'],
    ['the database has a free connection', '53300'],
    ['the disk of the database is no longer full', '53100'],
  ])('that the endpoint accepted is recorded when %s, and not sent again', async (_when, outageCode) => {
    const sink = await sinkThat(Sink.answering((_, response) => response.end()));
    const { id, look } = await delivery(sink.url);
    await deliverer({ outages: 2, outageCode }).run(id);
    expect(await look()).toMatchObject({ state: 'delivered' });
    expect(sink.received).toHaveLength(1);
    expect(unexpectedErrors).toEqual([]);
  });

  it('whose secret cannot be decrypted is an internal error: logged, not counted as an attempt, and retried', async () => {
    const sink = await sinkThat(Sink.answering((_, response) => response.end()));
    const { id, look } = await delivery(sink.url);
    await notifier.database.query(`UPDATE webhook_endpoint SET secret_sealed = '\\x00'`);
    await deliverer().run(id);
    expect(unexpectedErrors).toHaveLength(1);
    expect(await look()).toMatchObject({ state: 'pending', attempts: [], endpoint: { failingSince: null } });
    expect(sink.received).toEqual([]);
  });
});
