import type { Zone } from '@certwright/gateway-contract';
import type { DnsRecord } from '../dns-provider';
import { describeProvider } from '../testing/conformance';
import { type FakeWorld, tokenWorld } from '../testing/fake-world';
import { zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { openSession, type ProviderSpec } from '../testing/provider-world';
import { linodeProvider } from './linode';
import { FakeLinode } from './testing/fake-linode';

const zone = 'example.com';
const names = zoneNames(502);

async function worldOf(): Promise<FakeWorld<FakeLinode>> {
  const fake = await FakeLinode.open(names);
  return {
    ...tokenWorld(fake, names, linodeProvider({ baseUrl: fake.server.url })),
    goneZoneId: '1',
  };
}

const spec: ProviderSpec = {
  name: 'Linode',
  setUp: worldOf,
  cannot: { caa: 'its CAA records have no flags' },
};
describeProvider(spec);
describeMisbehaviour(spec);

describe('Linode', () => {
  const fqdn = `_acme-challenge.${zone}`;
  let world: FakeWorld<FakeLinode>;
  let at: Zone;

  beforeEach(async () => {
    world = await worldOf();
    at = { id: String(world.fake.idOf(zone)), name: zone };
  });
  afterEach(() => world.server.close());

  const sent = () =>
    world.server.requests
      .filter(({ method }) => method === 'POST')
      .map(({ body }) => JSON.parse(body) as unknown);

  it('a TXT record is sent unchanged, without quotes', async () => {
    const session = await openSession(world);
    await session.add(at, { fqdn, type: 'TXT', value: 'say "hi"\\', ttlS: null });
    expect(sent()).toEqual([{ type: 'TXT', name: '_acme-challenge', ttl_sec: 300, target: 'say "hi"\\' }]);
  });

  it.each([
    [60, 120],
    [120, 120],
    [121, 300],
    [301, 3_600],
    [4_000_000, 2_419_200],
  ])('a TTL of %p becomes the step of %p', async (ttlS, ttl_sec) => {
    const session = await openSession(world);
    await session.add(at, { fqdn, type: 'TXT', value: 'v', ttlS });
    expect(sent()).toEqual([expect.objectContaining({ ttl_sec })]);
  });

  it('a CAA record is sent in two members, and is added to others', async () => {
    const caa = (value: string): DnsRecord => ({ fqdn: `shop.${zone}`, type: 'CAA', value, ttlS: 3_600 });
    world.fake.plant({ fqdn: `shop.${zone}`, type: 'CAA', value: '0 issue "other.example"' }, zone);
    const session = await openSession(world);
    await session.add(at, caa('0 issue "ca.example"'));
    await session.add(at, caa('0 issue "ca.example"'));
    expect(sent()).toEqual([
      { type: 'CAA', name: 'shop', ttl_sec: 3_600, tag: 'issue', target: 'ca.example' },
    ]);
    await session.remove(at, caa('0 issue "ca.example"'));
    expect(world.fake.list(`shop.${zone}`).map(({ value }) => value)).toEqual(['0 issue "other.example"']);
  });

  it('a CAA record with flags is refused before anything is sent', async () => {
    const session = await openSession(world);
    const record = {
      fqdn: `shop.${zone}`,
      type: 'CAA',
      value: '128 issue "ca.example"',
      ttlS: null,
    } as const;
    await expect(session.add(at, record)).rejects.toMatchObject({ kind: 'rejected' });
    expect(sent()).toEqual([]);
  });

  it('records at other names stay when the API ignores the filter', async () => {
    world.fake.filters = false;
    world.fake.plant({ fqdn: `www.${fqdn}`, type: 'TXT', value: 'v' }, zone);
    const session = await openSession(world);
    await session.remove(at, { fqdn, type: 'TXT', value: 'v', ttlS: null });
    expect(world.fake.list(`www.${fqdn}`)).toHaveLength(1);
  });

  it('a zone that is a copy of another is not listed', async () => {
    const session = await openSession(world);
    expect((await session.zones()).map(({ name }) => name)).not.toContain('copy.example');
  });
});
