import { DnsServer, MemoryZone, MemoryZones, type ZoneRecord } from '@certwright/dns-authority';
import { DnsClient, type LookUp } from '@certwright/dns-lookup';
import { ProbeQuestions } from '@certwright/redis';
import { createLogger, Metrics, Readiness } from '@certwright/service';
import { testRedis } from '@certwright/testing';
import { settings } from '../config';
import { start } from '../start';
import { CaaOfName } from './caa-of-name';
import { systemResolver } from '../resolvers/system-resolver';

const log = createLogger('spec', 'silent');
const undo: (() => unknown)[] = [];
let caa: CaaOfName;
let resolver: { readonly host: string; readonly port: number };

const running = () => ({
  name: 'prober',
  log,
  metrics: new Metrics('prober'),
  readiness: new Readiness(),
  opened: (_: string, close: () => unknown) => void undo.push(close),
});

/** Milliseconds; more than the slowest machine needs. */
const enoughMs = 60_000;

function caaAt(...lookUps: LookUp[]): CaaOfName {
  const made = new CaaOfName({ each: async () => await Promise.resolve(lookUps) }, running());
  made.withinMs = enoughMs;
  return made;
}

const record = (name: string, tag: string, value: string, flags = 0): ZoneRecord => ({
  name,
  type: 'CAA',
  ttl: 5,
  data: { flags, tag, value },
});

beforeAll(async () => {
  const soa = { mname: 'ns.com', rname: 'ns.com', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 };
  // Used as a resolver: it refuses names outside the zone.
  const zone = new MemoryZone('com', [
    { name: 'com', type: 'SOA', ttl: 5, data: soa },
    record('example.com', 'issue', 'ca.example; accounturi=https://ca.example/1'),
    record('example.com', 'issuewild', ';'),
    record('critical.example.com', 'issue', 'ca.example'),
    record('critical.example.com', 'tbs', 'x', 128),
    ...Array.from({ length: 30 }, (_, nth) => record('many.example.com', 'issue', `ca${nth}.example`)),
    { name: 'www.none.com', type: 'A', ttl: 5, data: '127.0.0.1' },
  ]);
  const server = new DnsServer({ host: '127.0.0.1', port: 0, source: new MemoryZones([zone]) });
  undo.push(() => server.close());
  resolver = { host: '127.0.0.1', port: (await server.listen()).port };
  const client = new DnsClient({ server: resolver });
  undo.push(() => client.close());
  caa = caaAt(client.lookUp);
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

const grant = '0 issue "ca.example; accounturi=https://ca.example/1"';

it.each([
  [
    '_a.www.example.com',
    'ca.example',
    { verdict: 'allows', at: 'example.com', records: [grant, '0 issuewild ";"'] },
  ],
  ['www.example.com', 'other.example', { verdict: 'forbids', at: 'example.com' }],
  ['*.example.com', 'ca.example', { verdict: 'forbids', at: 'example.com' }],
  ['critical.example.com', 'ca.example', { verdict: 'forbids', at: 'critical.example.com' }],
  ['www.none.com', 'ca.example', { verdict: 'allows', at: null, records: [] }],
  ['gone.none.com', 'ca.example', { verdict: 'allows', at: null, records: [] }],
  ['www.example.net', 'ca.example', { verdict: 'unknown', at: 'www.example.net', failure: 'refused' }],
])('looks up the CAA records of %s for %s', async (dnsName, issuerDomain, expected) => {
  expect(await caa.respond({ dnsName, issuerDomains: ['ca.invalid', issuerDomain] })).toMatchObject(expected);
});

it('allows no CA of which no domain is known, and returns max 10 records', async () => {
  const answer = await caa.respond({ dnsName: 'many.example.com', issuerDomains: [] });
  expect(answer).toMatchObject({ verdict: 'forbids', failure: null });
  expect(answer?.records).toHaveLength(10);
});

it('queries the next resolver when one fails, and none after the time is over', async () => {
  const failing: LookUp = async () =>
    await Promise.resolve({ from: 'x', kind: 'failure', reason: 'servfail' });
  const client = new DnsClient({ server: resolver });
  undo.push(() => client.close());
  const question = { dnsName: 'example.com', issuerDomains: ['ca.example'] };
  expect(await caaAt(failing, client.lookUp).respond(question)).toMatchObject({ verdict: 'allows' });
  expect(await caaAt(failing).respond(question)).toMatchObject({ verdict: 'unknown', failure: 'servfail' });
  const late = caaAt(client.lookUp);
  late.withinMs = 0;
  expect(await late.respond(question)).toEqual({
    verdict: 'unknown',
    at: 'example.com',
    records: [],
    failure: 'timeout',
  });
});

it.each([
  null,
  { dnsName: 'example.com' },
  { dnsName: 'EXAMPLE.com', issuerDomains: [] },
  { dnsName: '.example.com', issuerDomains: [] },
  { dnsName: 'db.internal', issuerDomains: [] },
  { dnsName: 'com', issuerDomains: [] },
  { dnsName: 'example.com', issuerDomains: [1] },
  { dnsName: 'example.com', issuerDomains: Array.from({ length: 21 }, () => 'ca.example') },
])('sends no response to %j', async (question) => {
  expect(await caa.respond(question)).toBeUndefined();
});

it('receives questions over Redis, and uses the resolvers of DNS_RESOLVERS', async () => {
  const redis = await testRedis();
  undo.push(() => redis.dispose());
  const config = settings.read({ ...redis.environment, DNS_RESOLVERS: `${resolver.host}:${resolver.port}` });
  await start(config, running());
  const probes = new ProbeQuestions(redis.access, { name: 'spec', log });
  undo.push(() => probes.close());
  const question = { dnsName: 'www.example.com', issuerDomains: ['ca.example'] };
  expect(await probes.askCaa(question, enoughMs)).toMatchObject({ verdict: 'allows', at: 'example.com' });
});

it('reads resolvers of the system', () => {
  expect(systemResolver('192.0.2.1')).toEqual({ host: '192.0.2.1', port: 53 });
  expect(systemResolver('192.0.2.1:5353')).toEqual({ host: '192.0.2.1', port: 5353 });
  expect(systemResolver('2001:db8::1')).toEqual({ host: '2001:db8::1', port: 53 });
  expect(systemResolver('[2001:db8::1]:5353')).toEqual({ host: '2001:db8::1', port: 5353 });
});
