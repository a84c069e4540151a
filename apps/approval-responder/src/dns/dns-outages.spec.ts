import { eventually, freePort, severableLink } from '@certwright/testing';
import { queryUdp } from '../testing/dns-queries';
import { DnsCopies, zone } from '../testing/dns-copies';

const tenant = '1000000000001';
let copies: DnsCopies;

beforeAll(async () => {
  copies = await DnsCopies.open();
});
afterAll(async () => await copies.close());

async function through(databaseOrRedis: string) {
  const url = new URL(databaseOrRedis);
  const link = await severableLink({ host: url.hostname, port: Number(url.port) });
  url.port = String(link.port);
  return { link, url: url.href };
}

async function published(dnsName: string) {
  const label = await copies.delegation(tenant, dnsName);
  return { label, value: await copies.publish(tenant, dnsName, label), name: `${label}.${zone}` };
}

it('without Redis from the start, values come from the database', async () => {
  const { port } = await copies.copy({}, { redisUrl: `redis://127.0.0.1:${await freePort()}` });
  const { name, value } = await published('a.example.com');
  expect((await queryUdp(port, name)).answers).toEqual([`TXT ${value}`]);
  expect(await queryUdp(port, `${'b'.repeat(32)}.${zone}`)).toMatchObject({ rcode: 'NXDOMAIN' });
});

it('while Redis is down, current values come from the database', async () => {
  const { link, url } = await through(copies.redisUrl);
  const { port, close } = await copies.copy({}, { redisUrl: url });
  const { name, label, value } = await published('b.example.com');
  expect((await queryUdp(port, name)).answers).toEqual([`TXT ${value}`]);
  link.cut();
  const second = await copies.publish(tenant, 'b.example.com', label);
  const expected = [value, second].sort().map((each) => `TXT ${each}`);
  expect((await queryUdp(port, name)).answers).toEqual(expected);
  link.restore();
  await eventually(async () => expect((await queryUdp(port, name)).answers).toEqual(expected));
  await close();
  await link.close();
});

describe('while the database is down', () => {
  it('values in Redis are returned; any other query gets SERVFAIL and never NXDOMAIN', async () => {
    const { link, url } = await through(copies.databaseUrl);
    const { port, close, logLines, remembered } = await copies.copy({}, { databaseUrl: url });
    const { name, value } = await published('c.example.com');
    const { name: unseen } = await published('d.example.com');
    await remembered(name);
    link.cut();
    expect((await queryUdp(port, name)).answers).toEqual([`TXT ${value}`]);
    for (const each of [unseen, `${'b'.repeat(32)}.${zone}`, '_acme-challenge.d.example.com']) {
      expect(await queryUdp(port, each)).toMatchObject({ rcode: 'SERVFAIL', authoritative: false });
    }
    expect(await queryUdp(port, `www.${zone}`)).toMatchObject({ rcode: 'NXDOMAIN' });
    expect(await queryUdp(port, zone, { type: 'SOA' })).toMatchObject({ rcode: 'NOERROR' });
    expect(logLines.filter((line) => line.includes('a DNS look-up failed'))).toHaveLength(1);
    expect(logLines.join()).not.toContain(unseen.slice(0, 32));
    link.restore();
    await eventually(async () => expect((await queryUdp(port, unseen)).answers).toHaveLength(1));
    await close();
    await link.close();
  });
});
