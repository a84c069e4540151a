import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type DnsName, DnsServer, parseName, type RecordSource } from '@certwright/dns-authority';
import {
  type Child,
  type CollectedSpan,
  eventually,
  otlpCollector,
  type OtlpCollector,
  startChild,
} from '@certwright/testing';
import { Client } from 'pg';
import { approvalZone, csrFor, type Platform, startPlatform, workspaceRoot } from './platform';
import { asWritten, childrenOf, descendantsOf } from './span-tree';

const issuedWithinMs = 120_000;
const collectorToken = randomBytes(18).toString('hex');
const sealingKey = Buffer.alloc(32, 7);

let collector: OtlpCollector;
let platform: Platform;
let database: Client;
let sink: { readonly url: string; readonly headers: IncomingHttpHeaders[] };
let folder: string;
let notifier: Child;
/** Names whose standing record exists. */
const delegated = new Set<string>();
/** Secrets of the run besides those that the platform reads itself. */
const secrets: string[] = [];
const undo: (() => unknown)[] = [];

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'certwright-e2e-traces-'));
  undo.push(() => rmSync(folder, { recursive: true }));
  collector = await otlpCollector();
  undo.push(collector.close);
  const resolver = new DnsServer({ host: '127.0.0.1', port: 0, source: standingRecords() });
  const { host, port } = await resolver.listen();
  undo.push(async () => await resolver.close());
  const traced = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-token=${collectorToken}`,
  };
  const more = { 'orders-v3': traced, 'issuance-worker': traced, 'dns-gateway': traced };
  platform = await startPlatform({ resolver: `${host}:${port}`, authorityPort: port, more });
  undo.push(platform.stop);
  database = new Client({ connectionString: platform.databaseUrl });
  await database.connect();
  undo.push(async () => await database.end());
  sink = await startSink();
  await startNotifier(traced);
}, 240_000);
afterAll(async () => {
  for (const step of undo.reverse()) await step();
}, 60_000);

/** A resolver with the standing record, to the newest label, of each delegated name. */
function standingRecords(): RecordSource {
  const apex = parseName('example.com') as DnsName;
  return {
    read: async () => {
      const { rows } = await database.query<{ dns_name: string; label: string }>(
        `SELECT dns_name, label FROM delegation`,
      );
      return {
        apex,
        recordsAt: (at) => {
          const row = rows.find(({ dns_name: name }) => at === parseName(`_acme-challenge.${name}`));
          if (row === undefined || !delegated.has(row.dns_name)) return [];
          const data = parseName(`${row.label}.${approvalZone}`) as DnsName;
          return [{ name: at, type: 'CNAME', ttl: 1, data }];
        },
      };
    },
  };
}

async function startSink(): Promise<typeof sink> {
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers);
    request.resume().on('end', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `127.0.0.1:${(server.address() as AddressInfo).port}`, headers };
}

async function startNotifier(traced: Readonly<Record<string, string>>): Promise<void> {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/notifier'], { cwd: workspaceRoot });
  notifier = await startChild(process.execPath, {
    args: ['dist/apps/notifier/main.js'],
    cwd: workspaceRoot,
    env: {
      ...traced,
      OPS_PORT: '0',
      DATABASE_URL: platform.urlOf('notifier'),
      REDIS_URL: platform.redisUrl,
      SEALING_KEYS: sealingKey.toString('base64'),
      ALLOWED_NETWORKS: '127.0.0.0/8',
      SMTP_URL: 'smtp://127.0.0.1:1',
      SMTP_FROM: 'no-reply@certwright.example',
      APPROVAL_URL: 'http://127.0.0.1:4330',
    },
  });
  undo.push(async () => await notifier.stop());
  await notifier.says(/"started"/, 40_000);
}

const call = async (method: string, at: string, body?: object, headers: Record<string, string> = {}) => {
  const response = await fetch(`${platform.api}/api/v3${at}`, {
    method,
    headers: { authorization: `Bearer ${platform.apiKey}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
};

/** @returns the order's name */
async function order(dnsName: string, headers: Record<string, string>): Promise<string> {
  const csr = csrFor([dnsName], folder);
  secrets.push(csr, readFileSync(path.join(folder, 'order.key'), 'latin1').split('\n')[1] ?? '');
  const { status, json } = await call('POST', '/orders', { dns_names: [dnsName], csr }, headers);
  expect({ status, json }).toMatchObject({ status: 201 });
  return String(json['name']);
}

const issued = async (name: string) =>
  await eventually(
    async () => {
      const { json } = await call('GET', `/orders/${name}?expand=current_cert.leaf&expand=issuance`);
      expect({ cert: json['current_cert'] !== null, ...json }).toMatchObject({ cert: true });
    },
    { withinMs: issuedWithinMs },
  );

/** Changes the open issuance while no worker holds it. */
const updateOpen = async (change: string) =>
  await eventually(async () => {
    const { rowCount } = await database.query(
      `UPDATE issuance SET ${change} WHERE state = 'open' AND leased_until IS NULL`,
    );
    expect(rowCount).toBe(1);
  });

const requestOf = async (requestId: string): Promise<CollectedSpan> =>
  await eventually(() => {
    const found = collector
      .spans()
      .find(({ attributes }) => attributes['certwright.request_id'] === requestId);
    if (found === undefined) throw new Error(`no span of request ${requestId}`);
    return found;
  });

/** @returns the span of the request, once the spans up to the webhook are there */
async function tracedOrder(dnsName: string, requestId: string): Promise<CollectedSpan> {
  delegated.add(dnsName);
  await issued(await order(dnsName, { 'x-request-id': requestId }));
  const request = await requestOf(requestId);
  await eventually(() => {
    const names = descendantsOf(request, collector.spans()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['step attach', 'deliver webhook']));
  });
  return request;
}

describe('the traces of an order', () => {
  it('lead from the request through outbox and job to the CA, and on to the webhook', async () => {
    const password = randomBytes(12).toString('hex');
    const token = randomBytes(12).toString('hex');
    const url = `http://hook:${password}@${sink.url}/in/${token}?token=${token}`;
    const { json: webhook } = await call('POST', '/account/webhooks', { url });
    secrets.push(password, token, String(webhook['secret']).replace('whsec_', ''));
    // A sweep that comes before the relay leaves the job of the relay nothing to do: then another order has to show it.
    let ordered = 0;
    const request = await eventually(
      async () => {
        ordered += 1;
        const found = await tracedOrder(`a${ordered}.example.com`, `spec-${ordered}`);
        const tree = asWritten(found, collector.spans());
        expect(tree.slice(0, issuanceTree.length)).toEqual(issuanceTree);
        return found;
      },
      { withinMs: issuedWithinMs },
    );
    expect(request).toMatchObject({
      service: 'orders-v3',
      name: 'POST /api/v3/orders',
      kind: 'server',
      parentSpanId: null,
      attributes: { 'http.response.status_code': 201, 'http.route': '/api/v3/orders' },
    });
    expect(request.attributes['db.client.ms']).toBeGreaterThan(0);
    const [job] = descendantsOf(request, collector.spans()).filter(
      ({ name }) => name === 'job advance-issuance',
    );
    expect(job).toMatchObject({ service: 'issuance-worker', kind: 'consumer' });
    const { rows } = await database.query<{ id: string }>(`SELECT id FROM issuance ORDER BY id DESC LIMIT 1`);
    expect(job?.attributes['certwright.issuance_id']).toBe(rows[0]?.id);
    const [attach] = descendantsOf(request, collector.spans()).filter(({ name }) => name === 'step attach');
    expect(attach?.attributes).toMatchObject({ 'certwright.outcome': 'attached' });
    for (const name of ['orders-v3', 'issuance-worker'] as const)
      expect(platform.processes[name].output()).toContain(`"trace_id":"${request.traceId}"`);
  }, 300_000);

  it('send no traceparent to the webhook', async () => {
    await eventually(() => expect(sink.headers.length).toBeGreaterThan(0), { withinMs: issuedWithinMs });
    for (const headers of sink.headers) expect(Object.keys(headers)).not.toContain('traceparent');
  }, 130_000);

  it('go on in the same trace when the sweep runs an issuance that waited, and in a linked one after a while', async () => {
    for (const [dnsName, opened] of [
      ['soon.example.com', 'now()'],
      ['late.example.com', `now() - interval '1 day'`],
    ] as const) {
      const name = await order(dnsName, { 'x-request-id': dnsName });
      const request = await requestOf(dnsName);
      await eventually(() => {
        const waited = descendantsOf(request, collector.spans()).some(({ name: span }) =>
          span.startsWith('step '),
        );
        expect(waited).toBe(true);
      });
      // Instead of waiting.
      await updateOpen(`opened_at = ${opened}`);
      delegated.add(dnsName);
      await updateOpen('due_at = now()');
      await issued(name);
      await eventually(() => {
        const attached = collector
          .spans()
          .filter((span) => span.name === 'step attach')
          .at(-1);
        const job = collector.spans().find(({ spanId }) => spanId === attached?.parentSpanId);
        const isLinked = dnsName === 'late.example.com';
        const [outbox] = childrenOf(request, collector.spans());
        const from = { traceId: request.traceId, spanId: request.spanId };
        expect(outbox?.name).toBe('outbox advance-issuance');
        expect(job).toMatchObject(
          isLinked
            ? { parentSpanId: null, links: [from] }
            : { traceId: request.traceId, parentSpanId: request.spanId, links: [] },
        );
      });
    }
  }, 400_000);

  it('make no round fail: statements have the grants that they need', () => {
    const outputs = [...Object.values(platform.processes), notifier].map((child) => child.output()).join('');
    expect(outputs).not.toMatch(/round failed|permission denied|not leased/);
  });

  it('contain no secret: every exported byte', async () => {
    await call('GET', `/orders?api_key=${platform.apiKey}`, undefined, { 'x-request-id': platform.apiKey });
    await call('GET', '/orders', undefined, { 'x-request-id': 'spec-last' });
    await requestOf('spec-last');
    const { rows } = await database.query<{ label: string }>(`SELECT label FROM delegation`);
    const passwords = ['orders-v3', 'issuance-worker', 'notifier'].map(
      (name) => new URL(platform.urlOf(name)).password,
    );
    const planted = [
      ...[platform.apiKey, collectorToken, sealingKey.toString('base64')],
      ...secrets,
      ...rows.map(({ label }) => label),
      ...passwords.filter((each) => each !== ''),
    ];
    expect(planted.length).toBeGreaterThan(9);
    const spelled = planted.flatMap((secret) => [
      secret,
      Buffer.from(secret).toString('base64url').replace(/=+$/, ''),
      Buffer.from(secret).toString('hex'),
      encodeURIComponent(secret),
    ]);
    for (const secret of spelled) expect(collector.bytes()).not.toContain(secret);
    expect(collector.headers.every((headers) => headers['x-token'] === collectorToken)).toBe(true);
  }, 60_000);
});

const issuanceTree = [
  'POST /api/v3/orders',
  '  outbox advance-issuance',
  '    job advance-issuance',
  '      step check-approvals',
  '      step submit-to-ca',
  '        ca submit',
  '      step collect',
  '        ca collect',
  '      step attach',
];
