import { execFileSync } from 'node:child_process';
import path from 'node:path';
import {
  type Child,
  eventually,
  otlpCollector,
  startChild,
  testRedis,
  type TestRedis,
} from '@certwright/testing';
import { Webhook } from 'standardwebhooks';
import { MailServer } from './testing/mail-server';
import { NotifierDatabase } from './testing/notifier-database';
import { Sink } from './testing/sinks';
import { deliveryBounds, maxPlaces } from './webhooks/bounds';

const workspaceRoot = path.join(__dirname, '../../..');

let notifier: NotifierDatabase;
let redis: TestRedis;
let mail: MailServer;
let environment: Record<string, string>;
const sinks: Sink[] = [];

beforeAll(async () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/notifier'], { cwd: workspaceRoot });
  notifier = await NotifierDatabase.open();
  redis = await testRedis();
  mail = await MailServer.open();
  environment = {
    DATABASE_URL: notifier.roleUrl,
    ...redis.environment,
    SEALING_KEYS: notifier.sealingKey.toString('base64'),
    ALLOWED_NETWORKS: '127.0.0.0/8',
    SMTP_URL: mail.url,
    SMTP_REQUIRE_TLS: 'false',
    SMTP_FROM: 'Certwright <no-reply@certwright.example>',
    APPROVAL_URL: 'http://127.0.0.1:4330',
    OPS_PORT: '0',
  };
}, 60_000);

afterEach(async () => {
  await notifier.database.query(
    'TRUNCATE webhook_endpoint, webhook_delivery, webhook_attempt, mail, outbox CASCADE',
  );
  await Promise.all(sinks.splice(0).map(async (sink) => await sink.close()));
});

afterAll(async () => {
  await mail.close();
  await redis.dispose();
  await notifier.close();
});

async function startNotifier(env: Record<string, string> = {}): Promise<Child> {
  const args = [path.join(workspaceRoot, 'dist/apps/notifier/main.js')];
  const child = await startChild(process.execPath, { args, env: { ...environment, ...env } });
  await child.says(/"started"/, 30_000);
  return child;
}

async function opened(sink: Promise<Sink>): Promise<Sink> {
  sinks.push(await sink);
  return await sink;
}

/** Leases of dead processes expire; the test moves the clock instead of waiting. */
const endLeases = async () =>
  await notifier.database.query(
    `WITH mails AS (UPDATE mail SET leased_until = now() WHERE leased_until IS NOT NULL)
     UPDATE webhook_delivery SET leased_until = now() WHERE leased_until IS NOT NULL`,
  );

const statesOf = async (table: 'mail' | 'webhook_delivery') => {
  const rows = await notifier.database.query<{ state: string; count: number }[]>(
    `SELECT state, count(*)::int AS count FROM ${table} GROUP BY state`,
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
};

/** Mails about a disabled endpoint: the kind that needs the fewest other rows. */
async function mails(account: string, count: number): Promise<void> {
  const { id: endpointId } = await notifier.endpoint(account, 'https://off.example.com/');
  await notifier.database.query(
    `UPDATE webhook_endpoint SET enabled = false, disabled_reason = 'It is gone.' WHERE id = $1`,
    [endpointId],
  );
  for (let each = 0; each < count; each += 1) {
    await notifier.mail({
      accountId: account,
      kind: 'webhook-disabled',
      recipient: `ops${each}@example.com`,
      facts: { endpointId },
    });
  }
}

describe('the notifier as a process', () => {
  it('delivers and mails everything at least once despite repeated kills', async () => {
    const account = await notifier.account();
    const sink = await opened(
      Sink.answering((_, response) => void setTimeout(() => response.writeHead(204).end(), 20)),
    );
    const ids: string[] = [];
    let secret = '';
    for (let each = 0; each < 10; each += 1) {
      const endpoint = await notifier.endpoint(account, sink.url);
      secret = endpoint.secret;
      for (let plan = 0; plan < 8; plan += 1) {
        ids.push(await notifier.deliver(account, endpoint.id, await notifier.plan(account)));
      }
    }
    await mails(account, 30);
    const before = mail.received.length;
    for (let kill = 1; kill <= 2; kill += 1) {
      const child = await startNotifier();
      await endLeases();
      await eventually(() => {
        expect(sink.received.length >= kill * 25 || new Set(sink.received.map(idOf)).size === 80).toBe(true);
      });
      child.signal('SIGKILL');
      await child.ended;
    }
    const last = await startNotifier();
    await eventually(
      async () => {
        await endLeases();
        expect(await statesOf('webhook_delivery')).toEqual({ delivered: 80 });
        expect(await statesOf('mail')).toEqual({ sent: 30 });
      },
      { withinMs: 30_000, everyMs: 500 },
    );
    expect((await last.stop()).code).toBe(0);
    expect(new Set(sink.received.map(idOf))).toEqual(new Set(ids));
    const mine = sink.received.at(-1);
    expect(mine).toBeDefined();
    const own = sink.received.filter(({ headers, body }) => isSigned(secret, headers, body));
    expect(new Set(own.map(idOf)).size).toBe(8);
    const taken = mail.received.slice(before);
    expect(new Set(taken.map(({ messageId }) => messageId)).size).toBe(30);
    expect(sink.maxAtOnce).toBeLessThanOrEqual(deliveryBounds.perAccount);
  }, 120_000);

  it('does not let a hundred dead endpoints delay a healthy one', async () => {
    const hanging = await opened(Sink.saying((socket) => void socket.resume()));
    const healthy = await opened(Sink.answering((_, response) => response.writeHead(204).end()));
    for (let dead = 0; dead < 100; dead += 1) {
      const account = await notifier.account();
      const endpoint = await notifier.endpoint(account, hanging.url);
      const plan = await notifier.plan(account);
      await notifier.deliver(account, endpoint.id, plan);
    }
    const child = await startNotifier();
    await eventually(() => expect(hanging.maxAtOnce).toBe(100));
    const account = await notifier.account();
    const endpoint = await notifier.endpoint(account, healthy.url);
    for (let each = 1; each <= 5; each += 1) {
      await notifier.deliver(account, endpoint.id, await notifier.plan(account));
      await eventually(() => expect(healthy.received).toHaveLength(each));
      // Before the timeout of any other, which is after 15 s.
      if (each === 1)
        expect(await notifier.database.query(`SELECT FROM webhook_attempt WHERE status IS NULL`)).toEqual([]);
    }
    child.signal('SIGKILL');
  }, 60_000);

  it('has a slot for a healthy endpoint even with more failing endpoints than slots', async () => {
    const hanging = await opened(Sink.saying((socket) => void socket.resume()));
    const healthy = await opened(Sink.answering((_, response) => response.writeHead(204).end()));
    for (let dead = 0; dead < 40; dead += 1) {
      const account = await notifier.account();
      const endpoint = await notifier.endpoint(account, hanging.url);
      await notifier.deliver(account, endpoint.id, await notifier.plan(account));
    }
    await notifier.database.query(`UPDATE webhook_endpoint SET failing_since = now(), failed_at = now()`);
    const child = await startNotifier({ DELIVERY_CONCURRENCY: '8' });
    await eventually(() => expect(hanging.maxAtOnce).toBeGreaterThan(8));
    const account = await notifier.account();
    const endpoint = await notifier.endpoint(account, healthy.url);
    await notifier.deliver(account, endpoint.id, await notifier.plan(account));
    await eventually(() => expect(healthy.received).toHaveLength(1));
    expect(hanging.maxAtOnce).toBeLessThanOrEqual(40);
    child.signal('SIGKILL');
  }, 60_000);

  it('loses nothing when Redis loses its data', async () => {
    const account = await notifier.account();
    const sink = await opened(Sink.answering((_, response) => response.writeHead(204).end()));
    const endpoint = await notifier.endpoint(account, sink.url);
    for (let each = 0; each < 20; each += 1) {
      await notifier.deliver(account, endpoint.id, await notifier.plan(account));
    }
    await mails(account, 5);
    await notifier.database.query('DELETE FROM outbox');
    const child = await startNotifier();
    await redis.flush();
    await eventually(
      async () => {
        expect(await statesOf('webhook_delivery')).toEqual({ delivered: 20 });
        expect(await statesOf('mail')).toEqual({ sent: 5 });
      },
      { withinMs: 20_000 },
    );
    expect(sink.maxAtOnce).toBeLessThanOrEqual(maxPlaces);
    expect((await child.stop()).code).toBe(0);
  }, 60_000);

  it('records spans of deliveries and mails, without addresses and credentials, and sends no traceparent', async () => {
    const account = await notifier.account();
    const sink = await opened(Sink.answering((_, response) => response.writeHead(204).end()));
    const endpoint = await notifier.endpoint(account, `${sink.url}/path-token?key=query-token`);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    for (const age of ['0', '1 hour']) {
      const id = await notifier.deliver(account, endpoint.id, await notifier.plan(account));
      await notifier.database.query(
        `UPDATE webhook_delivery SET traceparent = $1, created_at = now() - $2::interval WHERE id = $3`,
        [traceparent, age, id],
      );
    }
    await mails(account, 1);
    await notifier.database.query(`UPDATE mail SET traceparent = $1`, [traceparent]);
    // The sweep finds all of them.
    await notifier.database.query('DELETE FROM outbox');
    const collector = await otlpCollector();
    try {
      const child = await startNotifier({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
      await eventually(async () => {
        expect(await statesOf('webhook_delivery')).toEqual({ delivered: 2 });
        expect(await statesOf('mail')).toEqual({ sent: 1 });
      });
      expect((await child.stop()).code).toBe(0);
      const named = (name: string) => collector.spans().filter((span) => span.name === name);
      const from = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
      const [soon, late] = [...named('deliver webhook')].sort(
        (one, other) => one.links.length - other.links.length,
      );
      expect(soon).toMatchObject({ traceId: from.traceId, parentSpanId: from.spanId, links: [] });
      expect(late).toMatchObject({ parentSpanId: null, links: [from] });
      expect(late?.attributes).toMatchObject({
        'certwright.account_id': account,
        'certwright.outcome': 'delivered',
        'http.response.status_code': 204,
      });
      const [job, mailed] = [named('job send-mail')[0], named('send mail')[0]];
      expect(job).toMatchObject({ kind: 'consumer', traceId: from.traceId, parentSpanId: from.spanId });
      expect(mailed).toMatchObject({
        parentSpanId: job?.spanId,
        attributes: { 'certwright.outcome': 'sent' },
      });
      const { secret } = endpoint;
      for (const each of ['path-token', 'query-token', 'ops0@example.com', secret.replace('whsec_', '')])
        expect(collector.bytes()).not.toContain(each);
      for (const { headers } of sink.received) expect(Object.keys(headers)).not.toContain('traceparent');
    } finally {
      await collector.close();
    }
  }, 60_000);

  it('stops in time even if endpoints hang, and releases their deliveries for another process', async () => {
    const account = await notifier.account();
    const hanging = await opened(Sink.saying((socket) => void socket.resume()));
    const endpoint = await notifier.endpoint(account, hanging.url);
    await notifier.deliver(account, endpoint.id, await notifier.plan(account));
    const child = await startNotifier({ DRAIN_TIME: '500ms' });
    await eventually(() => expect(hanging.maxAtOnce).toBe(1));
    expect((await child.stop()).code).toBe(0);
    const [row] = await notifier.database.query(
      `SELECT state, attempts, leased_until AS "leasedUntil" FROM webhook_delivery`,
    );
    expect(row).toEqual({ state: 'pending', attempts: 0, leasedUntil: null });
  }, 60_000);

  it.each([
    [
      'a sealing key that is none',
      { SEALING_KEYS: 'x'.repeat(44) },
      /SEALING_KEYS has an entry that is not the base64 of 32 bytes/,
    ],
    ['a password without TLS', { SMTP_USER: 'u', SMTP_PASSWORD: 'p' }, /would be sent in the clear/],
    ['a sender that is no address', { SMTP_FROM: 'invalid' }, /SMTP_FROM is neither/],
  ])('does not start with %s', async (_, env, said) => {
    const args = [path.join(workspaceRoot, 'dist/apps/notifier/main.js')];
    const child = await startChild(process.execPath, { args, env: { ...environment, ...env } });
    expect((await child.ended).code).toBe(1);
    expect(child.output()).toMatch(said);
  });
});

const idOf = ({ headers }: { headers: Record<string, unknown> }) => String(headers['webhook-id']);

function isSigned(secret: string, headers: Record<string, unknown>, body: string): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
