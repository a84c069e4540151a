import type { Zone } from '@certwright/gateway-contract';
import { describeProvider } from '../testing/conformance';
import { type FakeWorld, tokenWorld } from '../testing/fake-world';
import { zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { openSession, type ProviderSpec } from '../testing/provider-world';
import { gandiProvider } from './gandi';
import { FakeGandi } from './testing/fake-gandi';

const zone = 'example.com';
const names = zoneNames(203);

async function worldOf(): Promise<FakeWorld<FakeGandi>> {
  const fake = await FakeGandi.open(names);
  return tokenWorld(fake, names, gandiProvider({ baseUrl: fake.server.url }));
}

const spec: ProviderSpec = { name: 'Gandi', setUp: worldOf };
describeProvider(spec);
describeMisbehaviour(spec);

describe('Gandi', () => {
  const fqdn = `_acme-challenge.${zone}`;
  const at: Zone = { id: zone, name: zone };
  let world: FakeWorld<FakeGandi>;

  beforeEach(async () => (world = await worldOf()));
  afterEach(() => world.server.close());

  const writes = () => world.server.requests.filter(({ method }) => method !== 'GET');

  it('a TXT record is sent in quotes, in strings of 255 bytes, with the rest of the RRset unchanged', async () => {
    world.fake.plant({ fqdn, type: 'TXT', value: 'theirs' }, zone);
    const session = await openSession(world);
    await session.add(at, { fqdn, type: 'TXT', value: `a"b${'c'.repeat(253)}`, ttlS: 60 });
    const { method, path, headers, body } = writes()[0]!;
    expect([method, path, headers['authorization']]).toEqual([
      'PUT',
      '/domains/example.com/records/_acme-challenge/TXT',
      `Bearer ${world.fake.token}`,
    ]);
    expect(JSON.parse(body)).toEqual({
      rrset_ttl: 10_800,
      rrset_values: ['"theirs"', `"a\\"b${'c'.repeat(252)}" "c"`],
    });
  });

  it.each([
    [null, 300],
    [60, 300],
    [600, 600],
    [9_999_999, 2_592_000],
  ])('a TTL of %p becomes %p, as 300 s is the min and 30 days the max', async (ttlS, expected) => {
    const session = await openSession(world);
    await session.add(at, { fqdn, type: 'TXT', value: 'v', ttlS });
    expect(world.fake.rrsetsAt(fqdn)[0]?.rrset_ttl).toBe(expected);
  });

  it('removing the last value removes its RRset', async () => {
    const session = await openSession(world);
    const record = { fqdn, type: 'TXT', value: 'v', ttlS: null } as const;
    await session.add(at, record);
    await session.remove(at, record);
    expect(writes().map(({ method }) => method)).toEqual(['PUT', 'DELETE']);
  });

  it('zones are read from every page when the API does not count them', async () => {
    world.fake.hideCount();
    const session = await openSession(world);
    expect(await session.zones()).toHaveLength(names.length);
  });
});
