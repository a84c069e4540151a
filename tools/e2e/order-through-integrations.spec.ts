import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually, rawRedis } from '@certwright/testing';
import { Client } from 'pg';
import { type NameServers, startNameServers } from './name-servers';
import {
  csrFor,
  logsBesidesTheGateway,
  type Platform,
  readText,
  startPlatform,
  workspaceRoot,
} from './platform';

const programs = ['named', 'knotd', 'pdns_server', 'unbound', 'dig'];
const isThere = (program: string) =>
  ['/usr/sbin', '/usr/bin', '/usr/local/sbin'].some((folder) => {
    try {
      return readdirSync(folder).includes(program);
    } catch {
      return false;
    }
  });
const missing = programs.filter((program) => !isThere(program));
if (missing.length > 0) console.warn(`Skipped: ${missing.join(', ')} not installed (tools/test/peers.sh).`);
const whole = missing.length > 0 ? describe.skip : describe;

const names = ['shop.example.com', 'api.example.net', 'www.example.org'] as const;
const servers = [
  { kind: 'bind', address: '127.0.0.11', zones: [{ name: 'example.com' }] },
  { kind: 'pdns', address: '127.0.0.12', zones: [{ name: 'example.net' }] },
  { kind: 'knot', address: '127.0.0.13', zones: [{ name: 'example.org' }] },
];
const issuedWithinMs = 60_000;

interface Integration {
  readonly id: number;
}

whole('an order with three names in three zones at two providers', () => {
  let peers: NameServers;
  let platform: Platform;
  let folder: string;
  const integrations: Integration[] = [];
  const undo: (() => unknown)[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'certwright-e2e-order-'));
    undo.push(() => rmSync(folder, { recursive: true }));
    peers = await startNameServers(servers);
    undo.push(peers.stop);
    const { address, port } = peers.unbound;
    platform = await startPlatform({ resolver: `${address}:${port}`, authorityPort: peers.port });
    undo.push(platform.stop);
  }, 150_000);
  afterAll(async () => {
    for (const step of undo.reverse()) await step();
  }, 60_000);

  const call = async (method: string, at: string, body?: object) => {
    const response = await fetch(`${platform.api}/api/v3${at}`, {
      method,
      headers: { authorization: `Bearer ${platform.apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text, json: text === '' ? null : JSON.parse(text) };
  };
  const integrate = async (provider: string, credentials: object) => {
    const made = await call('POST', '/account/dns_integrations', { provider, credentials });
    expect(made).toMatchObject({ status: 201, json: { provider, state: 'ok' } });
    integrations.push(made.json as Integration);
    return made.json as Integration;
  };
  const rfc2136 = (server: string, zone: string) => {
    const { name, algorithm, secret } = peers.keys.full;
    const key = { key_name: name, key_algorithm: algorithm, key_secret: secret };
    return { type: 'bearer', server, port: String(peers.port), zones: zone, ...key };
  };
  const record = (at: number) => {
    const { address = '' } = peers.servers[at] ?? {};
    const args = ['+short', '-p', String(peers.port), `@${address}`, `_acme-challenge.${names[at]}`, 'CNAME'];
    return execFileSync('dig', args, { encoding: 'utf8' }).trim();
  };

  it('is approved, issued and cleaned up automatically', async () => {
    const api = peers.servers[1];
    await integrate('rfc2136', rfc2136('127.0.0.11', 'example.com'));
    await integrate('powerdns', { type: 'bearer', endpoint: api?.api, api_key: api?.apiKey });
    const knot = await integrate('rfc2136', rfc2136('127.0.0.13', 'example.org'));
    expect((await call('GET', `/account/dns_integrations/${knot.id}/zones`)).json).toMatchObject([
      { name: 'example.org' },
    ]);

    const order = await call('POST', '/orders?expand=issuance', {
      dns_names: names,
      csr: csrFor(names, folder),
    });
    expect(order.status).toBe(201);
    const at = `/orders/${order.json.name}`;
    const current = async () => {
      const { json } = await call('GET', `${at}?expand=current_cert.leaf&expand=issuance`);
      expect({ cert: json.current_cert !== null, issuance: json.issuance }).toMatchObject({ cert: true });
      return json.current_cert as { leaf: string };
    };
    const { leaf } = await eventually(current, { withinMs: issuedWithinMs });
    const certificate = execFileSync('openssl', ['x509', '-inform', 'DER', '-noout', '-text'], {
      input: Buffer.from(leaf, 'base64'),
      encoding: 'utf8',
    });
    for (const name of names) expect(certificate).toContain(`DNS:${name}`);
    names.forEach((_, index) => expect(record(index)).toMatch(/^[a-z0-9]{26,}\.approval\.example\.net\.$/));

    expect((await call('DELETE', at)).status).toBe(204);
    await eventually(() => expect(names.map((_, index) => record(index))).toEqual(['', '', '']), {
      withinMs: issuedWithinMs,
    });
  }, 200_000);

  it('writes a valid audit log: every change with its outcome, and no credential', () => {
    const audit = path.join(platform.folder, 'audit');
    const files = readdirSync(audit)
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => path.join(audit, name));
    const verified = execFileSync(process.execPath, ['tools/audit/main.mjs', 'verify', ...files], {
      cwd: workspaceRoot,
      encoding: 'utf8',
    });
    expect(verified).toMatch(/head/i);
    const text = files.map(readText).join('');
    for (const name of names) expect(text).toContain(`_acme-challenge.${name}`);
    for (const secret of planted()) expect(text).not.toContain(secret);
  });

  it('stores the credentials nowhere except in the gateway’s handles: database, Redis, logs, responses', async () => {
    const seen = [
      await databaseText(platform.databaseUrl),
      await redisText(platform.redisUrl),
      logsBesidesTheGateway(platform),
      platform.processes['dns-gateway'].output(),
      (await call('GET', '/account/dns_integrations')).text,
    ].join('\n');
    for (const { id } of integrations) expect(seen).toContain(String(id));
    for (const secret of planted()) expect(seen).not.toContain(secret);
  });

  it('removes a deleted integration', async () => {
    for (const { id } of integrations) {
      expect((await call('DELETE', `/account/dns_integrations/${id}`)).status).toBe(204);
    }
    expect((await call('GET', '/account/dns_integrations')).json).toEqual([]);
  });

  /** The secrets as text, as bytes and in other encodings. */
  function planted(): string[] {
    const { secret } = peers.keys.full;
    const key = peers.servers[1]?.apiKey ?? '';
    const spellings = (bytes: Buffer) => [bytes.toString('hex'), bytes.toString('base64url')];
    return [secret, key, ...spellings(Buffer.from(secret, 'base64')), ...spellings(Buffer.from(key))];
  }
});

/** Every row of every table, bytes in hex. */
async function databaseText(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(`SELECT row::text AS text FROM ${name} AS row`);
      texts.push(...rows.map(({ text }) => text));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

async function redisText(url: string): Promise<string> {
  const redis = rawRedis(url);
  try {
    const keys = await redis.keys('*');
    const dumps = await Promise.all(
      keys.map(async (key) => (await redis.dumpBuffer(key))?.toString('latin1') ?? ''),
    );
    return [...keys, ...dumps].join('\n');
  } finally {
    redis.disconnect();
  }
}
