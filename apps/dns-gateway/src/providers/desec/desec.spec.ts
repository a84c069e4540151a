import type { Zone } from '@certwright/gateway-contract';
import { describeProvider } from '../testing/conformance';
import { type FakeWorld, tokenWorld } from '../testing/fake-world';
import { zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { openSession, type ProviderSpec } from '../testing/provider-world';
import { desecProvider } from './desec';
import { FakeDesec } from './testing/fake-desec';

const zone = 'example.com';
const names = zoneNames(502);

async function worldOf(): Promise<FakeWorld<FakeDesec>> {
  const fake = await FakeDesec.open(names);
  return tokenWorld(fake, names, desecProvider({ baseUrl: fake.server.url }));
}

const spec: ProviderSpec = { name: 'deSEC', setUp: worldOf };
describeProvider(spec);
describeMisbehaviour(spec);

describe('deSEC', () => {
  const fqdn = `_acme-challenge.${zone}`;
  const at: Zone = { id: zone, name: zone };
  let world: FakeWorld<FakeDesec>;

  beforeEach(async () => (world = await worldOf()));
  afterEach(() => world.server.close());

  const lastWrite = () => world.server.requests.filter(({ method }) => method === 'PATCH').at(-1);

  it('a TXT record is sent in quotes, in strings of 255 bytes, with foreign values unchanged', async () => {
    world.fake.plant({ fqdn, type: 'TXT', value: 'theirs' }, zone);
    const session = await openSession(world);
    await session.add(at, { fqdn, type: 'TXT', value: `a"b${'c'.repeat(253)}`, ttlS: null });
    const { path, headers, body } = lastWrite()!;
    expect([path, headers['authorization'], headers['content-type']]).toEqual([
      '/domains/example.com/rrsets/',
      `Token ${world.fake.token}`,
      'application/json',
    ]);
    expect(JSON.parse(body)).toEqual([
      {
        subname: '_acme-challenge',
        type: 'TXT',
        ttl: 3_600,
        records: ['"theirs"', `"a\\"b${'c'.repeat(252)}" "c"`],
      },
    ]);
  });

  it.each([
    ['the minimum where none is requested', 3_600, null, 3_600],
    ['the minimum where less is requested', 3_600, 60, 3_600],
    ['what is requested where the domain allows it', 60, 300, 300],
    ['a minute at least', 1, null, 60],
    ['a week at most', 3_600, 2_000_000, 604_800],
  ])('the TTL is %s', async (_, minimum, ttlS, expected) => {
    world.fake.minimumTtls.set(zone, minimum);
    const session = await openSession(world);
    await session.add(at, { fqdn, type: 'TXT', value: 'v', ttlS });
    expect(world.fake.ttlAt(fqdn)).toBe(expected);
  });

  it('a replacement is one request, all or none', async () => {
    world.fake.plant({ fqdn, type: 'TXT', value: 'old' }, zone);
    const session = await openSession(world);
    await session.replace(at, { fqdn, type: 'CNAME', value: 'x.approval.example', ttlS: null });
    expect(JSON.parse(lastWrite()!.body)).toEqual([
      { subname: '_acme-challenge', type: 'TXT', records: [] },
      { subname: '_acme-challenge', type: 'CNAME', ttl: 3_600, records: ['x.approval.example.'] },
    ]);
  });

  it('RRsets at other names stay when the API ignores the filter', async () => {
    world.fake.filters = false;
    world.fake.plant({ fqdn: `www.${fqdn}`, type: 'TXT', value: 'theirs' }, zone);
    const session = await openSession(world);
    await session.add(at, { fqdn, type: 'TXT', value: 'v', ttlS: null });
    expect(world.fake.list(fqdn).map(({ value }) => value)).toEqual(['v']);
    expect(world.fake.list(`www.${fqdn}`)).toHaveLength(1);
  });

  it('its rate limit of writes is reported, with the seconds to wait', async () => {
    world.fake.throttled = true;
    const session = await openSession(world);
    await expect(session.add(at, { fqdn, type: 'TXT', value: 'v', ttlS: null })).rejects.toMatchObject({
      kind: 'rate_limited',
      retryAfterS: 42,
      message: expect.stringContaining('Expected available in 42 seconds.') as string,
    });
  });
});
