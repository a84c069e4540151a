import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { DnsServer, MemoryZone, MemoryZones, type ZoneRecord } from '@certwright/dns-authority';
import { freePort } from '@certwright/testing';
import { queryUdp } from '../testing/dns-queries';
import { DnsCopies, zone } from '../testing/dns-copies';
import { bindResolver, programPath, type Resolver, unboundResolver } from '../testing/resolvers';

const [tenantA, tenantB] = ['1000000000001', '1000000000002'];
const [ours, customers] = ['127.0.0.32', '127.0.0.33'];
const ttl = 60;

const has = (...names: string[]) => names.every((name) => programPath(name) !== undefined);
const describeWith = (...names: string[]) => (has(...names) ? describe : describe.skip);

let copies: DnsCopies;
let port: number;
let customer: DnsServer;
let labels: { cname: string; ns: string; otherTenant: string };
let values: { cname: string; wildcard: string; ns: string };

beforeAll(async () => {
  copies = await DnsCopies.open();
  labels = {
    cname: await copies.delegation(tenantA, 'www.example.com'),
    ns: await copies.delegation(tenantA, 'api.example.com'),
    otherTenant: await copies.delegation(tenantB, 'api.example.com'),
  };
  values = {
    cname: await copies.publish(tenantA, 'www.example.com', labels.cname),
    wildcard: await copies.publish(tenantA, 'www.example.com', labels.cname),
    ns: await copies.publish(tenantA, 'api.example.com', labels.ns),
  };
  // One port everywhere, so that a resolver that follows a delegation reaches our server.
  port = await freePort();
  await copies.copy({
    DNS_HOST: ours,
    DNS_PORT: String(port),
    APPROVAL_NAME_SERVERS: `ns1.${zone}=${ours}`,
  });
  customer = new DnsServer({ host: customers, port, source: new MemoryZones([customerZone()]) });
  await customer.listen();
});
afterAll(async () => {
  await customer.close();
  await copies.close();
});

function customerZone(): MemoryZone {
  const soa = { refresh: 60, retry: 60, expire: 600, minimum: 1, serial: 1 };
  const names = { mname: 'ns1.example.com', rname: 'hostmaster.example.com' };
  const records: ZoneRecord[] = [
    { type: 'SOA', name: 'example.com', ttl, data: { ...names, ...soa } },
    { type: 'NS', name: 'example.com', ttl, data: 'ns1.example.com' },
    { type: 'A', name: 'ns1.example.com', ttl, data: customers },
    { type: 'CNAME', name: '_acme-challenge.www.example.com', ttl, data: `${labels.cname}.${zone}` },
    { type: 'CNAME', name: '_acme-challenge.gone.example.com', ttl, data: `${'b'.repeat(32)}.${zone}` },
    { type: 'NS', name: '_acme-challenge.api.example.com', ttl, data: `${labels.ns}.${zone}` },
  ];
  return new MemoryZone('example.com', records);
}

const zones = () => [
  { name: zone, address: ours },
  { name: 'example.com', address: customers },
];

describeWith('named')('BIND as the resolver of a CA (skipped where it is not installed)', () => {
  let resolver: Resolver;
  beforeAll(async () => {
    resolver = await bindResolver(port, zones());
  }, 30_000);
  afterAll(async () => await resolver.stop());
  const resolve = async (name: string, type = 'TXT') =>
    await queryUdp(resolver.port, name, { type, recursion: true });

  it('follows a CNAME to the target', async () => {
    const { answers } = await resolve('_acme-challenge.www.example.com');
    expect(answers).toHaveLength(3);
    for (const value of [values.cname, values.wildcard]) expect(answers).toContain(`TXT ${value}`);
  });

  it('follows an NS delegation to the target, and finds the values of the tenant that delegated', async () => {
    const expected = { rcode: 'NOERROR', answers: [`TXT ${values.ns}`] };
    expect(await resolve('_acme-challenge.api.example.com')).toMatchObject(expected);
    expect(await resolve('_acme-challenge.api.example.com', 'CAA')).toMatchObject({
      rcode: 'NOERROR',
      answers: [],
    });
    // Again, now that it has cached the zone's own NS records.
    expect(await resolve('_acme-challenge.api.example.com', 'NS')).toMatchObject({
      answers: [`NS ns1.${zone}`],
    });
    expect(await resolve('x._acme-challenge.api.example.com')).toMatchObject({ rcode: 'NXDOMAIN' });
  });

  it('gets NXDOMAIN for a retired target', async () => {
    expect(await resolve('_acme-challenge.gone.example.com')).toMatchObject({ rcode: 'NXDOMAIN' });
  });
});

describeWith('unbound')('unbound with 0x20 and minimised names (skipped where it is not installed)', () => {
  let resolver: Resolver;
  beforeAll(async () => {
    const delegated = { name: '_acme-challenge.api.example.com', address: ours };
    resolver = await unboundResolver(port, await freePort(), [...zones(), delegated]);
  }, 30_000);
  afterAll(async () => await resolver.stop());
  const resolve = async (name: string, type = 'TXT') =>
    await queryUdp(resolver.port, name, { type, recursion: true });

  it('finds values behind a CNAME and in a delegated name', async () => {
    expect((await resolve('_acme-challenge.www.example.com')).answers).toHaveLength(3);
    expect((await resolve('_acme-challenge.api.example.com')).answers).toContain(`TXT ${values.ns}`);
    expect((await resolve('_acme-challenge.api.example.com', 'CAA')).rcode).toBe('NOERROR');
    expect((await resolve('_acme-challenge.gone.example.com')).rcode).toBe('NXDOMAIN');
  });
});

const hasDig = spawnSync('dig', ['-v'], { timeout: 5_000 }).error === undefined;
(hasDig ? describe : describe.skip)('dig (skipped where it is not installed)', () => {
  const dig = async (...args: string[]) => {
    const where = [`@${ours}`, '-p', String(port), '+tries=1', '+timeout=20', '+norecurse'];
    return (await promisify(execFile)('dig', [...where, ...args], { timeout: 10_000 })).stdout;
  };

  it('gets well-formed responses', async () => {
    const response = await dig(`${labels.cname}.${zone}`, 'TXT');
    expect(response).toMatch(/status: NOERROR[^]*flags: qr aa;[^]*EDNS: version: 0, flags:; udp: 1232/);
    expect(response).toMatch(new RegExp(`\\s5\\s+IN\\s+TXT\\s+"${values.cname}"`));
    expect(response).not.toMatch(/malformed|warning/i);
    expect(await dig(zone, 'SOA')).toMatch(
      /SOA\s+ns1\.approval\.example\.net\. hostmaster\.approval\.example\.net\. \d+ 7200 900 1209600 5/,
    );
    expect(await dig(`x.${zone}`)).toMatch(/status: NXDOMAIN[^]*flags: qr aa;/);
    expect(await dig('example.org')).toMatch(/status: REFUSED/);
    expect(await dig('version.bind', 'TXT', 'CH')).toMatch(/status: REFUSED/);
    expect(await dig(zone, 'AXFR')).toMatch(/Transfer failed/);
    expect(await dig(`${labels.cname}.${zone}`, 'TXT', '+tcp', '+short')).toContain(values.wildcard);
    expect(await dig(`${labels.cname}.${zone}`, 'TXT', '+edns=1', '+noednsnegotiation')).toMatch(/BADVERS/);
  });
});
