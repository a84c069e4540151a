import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createSecureContext, createServer, type Server } from 'node:tls';
import { type DnsName, DnsServer, parseName, type ZoneRecord } from '@certwright/dns-authority';
import { ProbeQuestions } from '@certwright/redis';
import { type Forged, startChild, testRedis } from '@certwright/testing';
import { EndpointsFixture, minuteMs } from '../testing/endpoints-fixture';

jest.setTimeout(120_000);

const workspaceRoot = path.join(__dirname, '../../../..');
const named = (name: string): DnsName => parseName(name) as DnsName;
const apex = named('example.com');
/** For the key with 1024 bits. */
const ciphers = 'DEFAULT@SECLEVEL=0';
const undo: (() => Promise<unknown>)[] = [];
let fixture: EndpointsFixture;
let server: Server;
/** What the server presents, by requested name. */
const presented = new Map<string, readonly Forged[]>();
/** Targets of CNAME records; other names have the address of the server. */
const aliases = new Map<string, string>();

beforeAll(async () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/prober'], { cwd: workspaceRoot });
  fixture = await EndpointsFixture.open();
  undo.push(async () => await fixture.close());
  server = createServer({
    ciphers,
    SNICallback: (name, done) => {
      const [leaf, ...others] = presented.get(name) ?? [];
      if (leaf === undefined) return done(new Error('no such host'));
      const pem = (file: string) => readFileSync(file, 'utf8');
      const cert = [leaf, ...others].map(({ file }) => pem(file)).join('');
      done(null, createSecureContext({ key: pem(leaf.keyFile), cert, ciphers }));
    },
  });
  server
    .on('tlsClientError', () => undefined)
    .on('secureConnection', (socket) => socket.on('error', () => undefined).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(async () => await Promise.resolve(server.close()));
  const dns = new DnsServer({ host: '127.0.0.1', port: 0, source: { read: zone } });
  const { host, port } = await dns.listen();
  undo.push(async () => await dns.close());
  const redis = await testRedis();
  undo.push(async () => await redis.dispose());
  const child = await startChild(process.execPath, {
    args: [path.join(workspaceRoot, 'dist/apps/prober/main.js')],
    env: {
      REDIS_URL: redis.url,
      DNS_RESOLVERS: `${host}:${port}`,
      ALLOWED_NETWORKS: '127.0.0.0/8',
      OPS_PORT: '0',
    },
  });
  await child.says(/"started"/, 60_000);
  const prober = new ProbeQuestions(redis.url, {
    name: 'spec',
    log: { warn: () => undefined, info: () => undefined },
  });
  undo.push(async () => await prober.close());
  fixture.prober = prober;
  await fixture.use({});
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

/** The zone example.com; every name in it exists, except `gone`. */
function zone(name: DnsName) {
  if (name !== apex && !name.endsWith(`.${apex}`)) return undefined;
  const soa = { mname: apex, rname: apex, serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 };
  const recordsAt = (at: DnsName): ZoneRecord[] | undefined => {
    if (at === apex) return [{ name: at, ttl: 1, type: 'SOA', data: soa }];
    if (at.startsWith('gone.')) return undefined;
    const target = aliases.get(at);
    return [
      target === undefined
        ? { name: at, ttl: 1, type: 'A', data: '127.0.0.1' }
        : { name: at, ttl: 1, type: 'CNAME', data: named(target) },
    ];
  };
  return { apex, recordsAt };
}

it('reports what real servers present once, and withdraws it once after they were corrected', async () => {
  const { forge, ca } = fixture;
  const leaf = (host: string, parts = {}) => forge.make({ by: ca, dnsNames: [host], days: 200, ...parts });
  const wrong = {
    'wrong-name.example.com': [leaf('other.example.net'), ca],
    'self-signed.example.com': [forge.make({ dnsNames: ['self-signed.example.com'] })],
    'untrusted.example.com': [leaf('untrusted.example.com')],
    'weak.example.com': [leaf('weak.example.com', { key: 'rsa1024' }), ca],
  };
  const names = [...Object.keys(wrong), 'dangling.example.com', 'good.example.com'];
  for (const name of names) presented.set(name, [leaf(name), ca]);
  for (const [name, chain] of Object.entries(wrong)) presented.set(name, chain);
  aliases.set('dangling.example.com', 'gone.example.com');
  const account = await fixture.account();
  await fixture.add(account, names, [(server.address() as AddressInfo).port]);
  await fixture.pass(45 * minuteMs);
  const problems = await fixture.sent(account);
  expect([...problems].sort()).toEqual([
    'problem dangling.example.com: dangling',
    'problem self-signed.example.com: self_signed',
    'problem untrusted.example.com: untrusted',
    'problem weak.example.com: weak',
    'problem wrong-name.example.com: wrong_name',
  ]);
  aliases.clear();
  for (const name of names) presented.set(name, [leaf(name), ca]);
  await fixture.pass(8 * 60 * minuteMs);
  const recovered = (await fixture.sent(account)).slice(problems.length);
  expect([...recovered].sort()).toEqual(
    [...problems].sort().map((problem) => problem.replace('problem', 'recovered')),
  );
  expect((await fixture.endpoint(account, 'good.example.com')).state).toBe('ok');
});
