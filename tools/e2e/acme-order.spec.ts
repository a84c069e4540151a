import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually, otlpCollector, type OtlpCollector } from '@certwright/testing';
import { Client } from 'pg';
import {
  type AcmePlatform,
  caaDomain,
  mayServeDns,
  responderAddress,
  startAcmePlatform,
} from './acme-platform';
import type { Fault } from './faulty-link';
import { missingPrograms } from './installed';
import { type NameServers, startNameServers } from './name-servers';
import { csrFor } from './platform';
import { descendantsOf } from './span-tree';

const missing = missingPrograms(['named', 'pdns_server', 'unbound', 'nsupdate', 'pebble']);
if (missing.length > 0) console.warn(`Skipped: ${missing.join(', ')} not installed (tools/test/peers.sh).`);
const mayRun = missing.length === 0 && mayServeDns();
if (missing.length === 0 && !mayRun)
  console.warn(`Skipped: port 53 of ${responderAddress} is not ours to use.`);
const whole = mayRun ? describe : describe.skip;

const caa = `@ IN CAA 0 issue "${caaDomain}"`;
const servers = [
  {
    kind: 'bind',
    address: '127.0.0.21',
    zones: [
      { name: 'example.com', records: [caa] },
      { name: 'example.org', records: [caa, 'web IN A 127.0.0.1'] },
    ],
  },
  {
    kind: 'pdns',
    address: '127.0.0.22',
    zones: [
      {
        name: 'example.net',
        records: [caa, 'approval IN NS ns1.approval', `ns1.approval IN A ${responderAddress}`],
      },
    ],
  },
];
const issuedWithinMs = 90_000;

const tracedWork = [
  'orders-v3: POST /api/v3/orders',
  'orders-v3: gateway /make_integration',
  'issuance-worker: outbox advance-issuance',
  'issuance-worker: job advance-issuance',
  'issuance-worker: job keep-integration',
  'issuance-worker: gateway /add_record',
  'dns-gateway: POST /add_record',
  'dns-gateway: provider request',
  'issuance-worker: prober probe-web-rule',
  'prober: prober probe-web-rule',
  'issuance-worker: publish challenge values',
  'issuance-worker: approval-responder values',
  'approval-responder: approval value',
  'issuance-worker: acme newOrder',
  'issuance-worker: acme finalize',
];

interface OrderJson {
  readonly name: string;
  readonly current_cert: { readonly leaf: string } | null;
  readonly issuance: {
    readonly phase: string;
    readonly names: readonly {
      readonly dns_name: string;
      readonly approval_method: string | null;
      readonly record: { readonly options: readonly { readonly type: string; readonly value: string }[] };
      readonly rule: { readonly redirect_to: string } | null;
    }[];
  };
}

whole('an order at a CA that speaks ACME', () => {
  let peers: NameServers;
  let running: AcmePlatform;
  let web: WebServer;
  let database: Client;
  let folder: string;
  let collector: OtlpCollector;
  const undo: (() => unknown)[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'certwright-e2e-acme-'));
    undo.push(() => rmSync(folder, { recursive: true }));
    peers = await startNameServers(servers);
    undo.push(peers.stop);
    collector = await otlpCollector();
    undo.push(collector.close);
    running = await startAcmePlatform(peers, {}, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    undo.push(running.stop);
    web = await startWebServer(running.acme.httpPort, running.responderPort);
    undo.push(web.close);
    database = new Client({ connectionString: running.platform.databaseUrl });
    await database.connect();
    undo.push(async () => await database.end());
    const { name, algorithm, secret } = peers.keys.full;
    const key = { key_name: name, key_algorithm: algorithm, key_secret: secret };
    const bind = { type: 'bearer', server: '127.0.0.21', port: String(peers.port), zones: 'example.com' };
    await call('POST', '/account/dns_integrations', {
      provider: 'rfc2136',
      credentials: { ...bind, ...key },
    });
    const { api, apiKey } = peers.servers[1] ?? {};
    const powerdns = { type: 'bearer', endpoint: api, api_key: apiKey };
    await call('POST', '/account/dns_integrations', { provider: 'powerdns', credentials: powerdns });
  }, 200_000);
  afterAll(async () => {
    for (const step of undo.reverse()) await step();
  }, 60_000);

  const call = async (method: string, at: string, body?: object) => {
    const { api, apiKey } = running.platform;
    const response = await fetch(`${api}/api/v3${at}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${text}`);
    return JSON.parse(text) as OrderJson;
  };
  const csrs: string[] = [];
  const order = async (dnsNames: readonly string[]) => {
    const csr = csrFor(dnsNames, folder);
    csrs.push(csr);
    return await call('POST', '/orders?expand=issuance', { dns_names: dnsNames, csr });
  };
  const current = async (name: string) =>
    await call('GET', `/orders/${name}?expand=current_cert.leaf&expand=issuance`);
  const issued = async (name: string) => {
    const found = await current(name);
    if (found.current_cert === null) throw new Error(JSON.stringify(found.issuance));
    return found;
  };
  const serialsStored = async () => {
    const { rows } = await database.query<{ leaf: Buffer }>(`SELECT leaf FROM certificate ORDER BY id`);
    return rows.map(({ leaf }) => plain(new X509Certificate(leaf).serialNumber));
  };
  const serialsIssued = () => running.acme.issued().map(plain);

  it('is issued with names by integration, standing NS delegation and web server rule, and a wildcard', async () => {
    const names = [
      'shop.example.com',
      '*.shop.example.com',
      'api.example.net',
      'www.example.org',
      'web.example.org',
    ];
    const placed = await order(names);
    const shown = (dnsName: string) => placed.issuance.names.find((name) => name.dns_name === dnsName);
    delegate(
      'www.example.org',
      shown('www.example.org')?.record.options.find(({ type }) => type === 'NS')?.value,
    );
    web.follow(new URL(shown('web.example.org')?.rule?.redirect_to ?? '').pathname);

    const { current_cert, issuance } = await eventually(async () => await issued(placed.name), {
      withinMs: issuedWithinMs,
    });
    const methods = Object.fromEntries(issuance.names.map((name) => [name.dns_name, name.approval_method]));
    expect(methods).toEqual({
      'shop.example.com': 'dns',
      '*.shop.example.com': 'dns',
      'api.example.net': 'dns',
      'www.example.org': 'dns',
      'web.example.org': 'http',
    });
    const certificate = new X509Certificate(Buffer.from(current_cert?.leaf ?? '', 'base64'));
    const inCertificate = (certificate.subjectAltName ?? '').split(', ').sort();
    expect(inCertificate).toEqual(names.map((name) => `DNS:${name}`).sort());
    expect(await serialsStored()).toEqual(serialsIssued());
    expect(serialsIssued()).toHaveLength(1);
  }, 150_000);

  it('removes all challenge values afterwards', async () => {
    const { rows } = await database.query(
      `SELECT label FROM challenge_record UNION ALL SELECT token FROM challenge_file`,
    );
    expect(rows).toEqual([]);
  });

  it('is traced from the request to the CA, the gateway, the prober and the approval responder, without secrets', async () => {
    const spans = () => collector.spans();
    const named = (name: string) => spans().filter((span) => span.name === name);
    await eventually(
      () => {
        const seen = new Set(spans().map(({ service, name }) => `${service}: ${name}`));
        expect([...seen]).toEqual(expect.arrayContaining(tracedWork));
      },
      { withinMs: issuedWithinMs },
    );
    const [request] = named('POST /api/v3/orders');
    if (request === undefined) throw new Error('the request has no span');
    // Each process exports its spans in its own time.
    await eventually(
      () => {
        const all = descendantsOf(request, spans());
        expect(all.map(({ service }) => service)).toEqual(
          expect.arrayContaining(['issuance-worker', 'prober']),
        );
        expect(all.find(({ name }) => name === 'acme newOrder')).toMatchObject({
          kind: 'client',
          attributes: { 'server.address': 'localhost', 'http.response.status_code': 201 },
        });
      },
      { withinMs: issuedWithinMs },
    );
    // A sweep that enqueues due records before the relay does begins a trace: then another order has to show it.
    await eventually(
      async () => {
        const shown = () => {
          const below = named('POST /api/v3/orders').flatMap((each) => descendantsOf(each, spans()));
          expect(below.map(({ service }) => service)).toContain('dns-gateway');
        };
        await eventually(shown, { withinMs: 20_000 }).catch(async (error: unknown) => {
          const { name } = await order([`traced${csrs.length}.example.com`]);
          await eventually(async () => await issued(name), { withinMs: issuedWithinMs });
          throw error;
        });
      },
      { withinMs: issuedWithinMs },
    );
    const { rows } = await database.query<{ secret: string }>(
      `SELECT label AS secret FROM delegation
       UNION ALL SELECT challenge ->> 'token' FROM acme_order, jsonb_array_elements(challenges) AS challenge
       UNION ALL SELECT order_url FROM acme_order WHERE order_url IS NOT NULL`,
    );
    const { secret } = peers.keys.full;
    const secrets = [...rows.map((row) => row.secret), ...csrs, secret, peers.servers[1]?.apiKey ?? secret];
    expect(secrets.length).toBeGreaterThan(8);
    for (const each of [...secrets, running.platform.apiKey]) {
      for (const spelled of [each, Buffer.from(each).toString('hex'), encodeURIComponent(each)])
        expect(collector.bytes()).not.toContain(spelled);
    }
  }, 270_000);

  it('leads to one certificate per order despite faults of connections and the worker', async () => {
    const before = serialsIssued().length;
    const placed = await Promise.all(
      Array.from({ length: 4 }, async (_, index) => await order([`fault${index}.example.com`])),
    );
    let turn = 0;
    running.link.disturb(() => faultOf(turn++));
    const left = new Set(placed.map(({ name }) => name));
    const deadline = Date.now() + 420_000;
    for (let crashes = 0; left.size > 0 && Date.now() < deadline;) {
      await hurry();
      await new Promise((resolve) => setTimeout(resolve, 500));
      for (const name of left) if ((await current(name)).current_cert !== null) left.delete(name);
      if (crashes < 2 && (running.link.faults() > 4 * (crashes + 1) || left.size < placed.length)) {
        crashes += 1;
        await running.crashWorker();
      }
      // Three of each kind.
      if (turn > 15) running.link.disturb(() => ({ kind: 'none' }));
    }
    const stuck = await Promise.all([...left].map(async (name) => (await current(name)).issuance));
    expect(stuck).toEqual([]);
    expect(running.link.faults()).toBeGreaterThan(5);
    expect(serialsIssued()).toHaveLength(before + placed.length);
    expect((await serialsStored()).sort()).toEqual([...serialsIssued()].sort());
  }, 480_000);

  /** Back-off takes minutes; the spec does not wait for it. */
  async function hurry(): Promise<void> {
    await database.query(
      `UPDATE issuance SET due_at = clock_timestamp() WHERE state = 'open' AND due_at > clock_timestamp()`,
    );
    await database.query(
      `UPDATE certificate_authority SET down_since = NULL, down_until = NULL WHERE down_until IS NOT NULL`,
    );
  }

  function delegate(dnsName: string, target = ''): void {
    const { name, algorithm, secret } = peers.keys.full;
    const commands = [
      `server 127.0.0.21 ${peers.port}`,
      'zone example.org',
      `update add _acme-challenge.${dnsName}. 1 NS ${target}`,
      'send',
      '',
    ];
    execFileSync('nsupdate', ['-y', `${algorithm}:${name}:${secret}`], { input: commands.join('\n') });
  }
});

/** A serial number in hex without leading zeros. */
const plain = (hex: string) => BigInt(`0x${hex}`).toString(16);

/** Every connection another: cut in the handshake, within the first answers and later on, swallowed, late, and good ones between. */
function faultOf(turn: number): Fault {
  const afterBytes = 300 + ((turn * 1_571) % 9_000);
  const faults: readonly Fault[] = [
    { kind: 'cut', afterBytes },
    { kind: 'swallow', afterBytes },
    { kind: 'delay', byMs: 300 },
    { kind: 'cut', afterBytes: afterBytes * 2 },
    { kind: 'none' },
  ];
  return faults[turn % faults.length] ?? { kind: 'none' };
}

/** A customer's web server with a rule that proxies challenge paths of all its names to the approval responder. */
interface WebServer {
  readonly port: number;
  /** Sets the rule of the order. @param path of the account's rule at the responder */
  follow(path: string): void;
  close(): Promise<void>;
}

/** @param responderPort of approval-responder, on loopback */
async function startWebServer(port: number, responderPort: number): Promise<WebServer> {
  let rule: string | undefined;
  const server = createServer((incoming, response) => {
    const at = incoming.url ?? '/';
    if (rule === undefined || !at.startsWith('/.well-known/')) return void response.writeHead(404).end();
    const headers = { 'x-forwarded-host': incoming.headers.host ?? '' };
    request({ host: '127.0.0.1', port: responderPort, path: rule + at, headers }, (proxied) => {
      response.writeHead(proxied.statusCode ?? 502, { 'content-type': 'text/plain' });
      proxied.pipe(response);
    })
      .on('error', () => response.writeHead(502).end())
      .end();
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    follow: (path) => void (rule = path),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
