import { describeProvider } from '../testing/conformance';
import { oauthWorld, withCode } from '../testing/fake-world';
import { FakeZones, zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { describeOauth, type OauthWorld } from '../testing/oauth-conformance';
import { openSession, type ProviderSpec, racingSession } from '../testing/provider-world';
import { cloudflareProvider } from './cloudflare';
import { FakeCloudflare } from './testing/fake-cloudflare';

/** 50 zones per page. */
const names = zoneNames(60);
const token = 'v1.0-planted-token-123456';

async function setUp(): Promise<OauthWorld> {
  const zones = new FakeZones([...names, 'copy.example']);
  const world = await oauthWorld({
    zones,
    names,
    oauth: { clientAuthentication: 'basic', rotates: true, expiresInS: 3_600 },
    api: (isToken) => new FakeCloudflare(zones, (given) => given === token || isToken(given)),
    provider: cloudflareProvider,
    credentials: { type: 'bearer', token },
    wrongCredentials: { type: 'bearer', token: 'v1.0-another-token-123456' },
  });
  return { ...world, goneZoneId: 'f'.repeat(32) };
}

const spec: ProviderSpec = { name: 'cloudflare', setUp };
describeProvider(spec);
describeMisbehaviour(spec);
describeOauth({ name: 'cloudflare', rotates: true, setUp: () => withCode(setUp()) });

describe('cloudflare on the wire', () => {
  let world: OauthWorld;
  beforeEach(async () => {
    world = await setUp();
  });
  afterEach(() => world.close?.());

  it('a TXT record is created as documented: absolute name, strings in quotes, automatic TTL', async () => {
    const session = await openSession(world);
    const [zone] = await session.zones();
    await session.add(zone!, { fqdn: '_acme-challenge.example.com', type: 'TXT', value: 'a"b', ttlS: null });
    const { method, path, headers, body } = world.server.requests.at(-1)!;
    expect({ method, path, body: JSON.parse(body) }).toEqual({
      method: 'POST',
      path: `/zones/${zone!.id}/dns_records`,
      body: { type: 'TXT', name: '_acme-challenge.example.com', ttl: 1, content: '"a\\"b"' },
    });
    expect(headers).toMatchObject({
      authorization: 'Bearer v1.0-planted-token-123456',
      'content-type': 'application/json',
    });
  });

  it('a CAA record is created by its parts', async () => {
    const session = await openSession(world);
    const [zone] = await session.zones();
    const value = '0 issue "ca.example; accounturi=https://ca.example/1"';
    await session.add(zone!, { fqdn: 'www.example.com', type: 'CAA', value, ttlS: 30 });
    expect(JSON.parse(world.server.requests.at(-1)!.body)).toEqual({
      type: 'CAA',
      name: 'www.example.com',
      ttl: 60,
      data: { flags: 0, tag: 'issue', value: 'ca.example; accounturi=https://ca.example/1' },
    });
  });

  it('a record that another copy added between our read and our write is a success', async () => {
    const session = await openSession(world);
    const [zone] = await session.zones();
    const record = { fqdn: '_x.example.com', type: 'TXT', value: 'text', ttlS: null } as const;
    const racing = await racingSession(world, () => world.plant(record));
    await racing.add(zone!, record);
    expect(await world.list(record.fqdn)).toHaveLength(1);
  });
});
