import { describeProvider } from '../testing/conformance';
import { oauthWorld, withCode } from '../testing/fake-world';
import { FakeZones, zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { describeOauth, type OauthWorld } from '../testing/oauth-conformance';
import { openSession, type ProviderSpec } from '../testing/provider-world';
import { digitalOceanProvider } from './digitalocean';
import { FakeDigitalOcean } from './testing/fake-digitalocean';

/** 200 domains per page. */
const names = zoneNames(210);
const token = 'dop_v1_planted_token_123456';

function setUp(): Promise<OauthWorld> {
  const zones = new FakeZones(names);
  return oauthWorld({
    zones,
    names,
    oauth: { clientAuthentication: 'form', rotates: true, expiresInS: 2_592_000 },
    api: (isToken) => new FakeDigitalOcean(zones, (given) => given === token || isToken(given)),
    provider: digitalOceanProvider,
    credentials: { type: 'bearer', token },
    wrongCredentials: { type: 'bearer', token: 'dop_v1_another_token_123456' },
  });
}

const spec: ProviderSpec = {
  name: 'digitalocean',
  setUp,
  cannot: { caa: 'only the domain of a CA, without parameters, is documented as data of a CAA record' },
};
describeProvider(spec);
describeMisbehaviour(spec);
describeOauth({ name: 'digitalocean', rotates: true, setUp: () => withCode(setUp()) });

describe('digitalocean on the wire', () => {
  let world: OauthWorld;
  beforeEach(async () => {
    world = await setUp();
  });
  afterEach(() => world.close?.());

  it('a TXT record is created as documented: relative name, no quotes', async () => {
    const session = await openSession(world);
    const [zone] = await session.zones();
    await session.add(zone!, { fqdn: '_acme-challenge.example.com', type: 'TXT', value: 'a"b', ttlS: 10 });
    const { method, path, body } = world.server.requests.at(-1)!;
    expect({ method, path, body: JSON.parse(body) }).toEqual({
      method: 'POST',
      path: '/v2/domains/example.com/records',
      body: { type: 'TXT', name: '_acme-challenge', data: 'a"b', ttl: 30 },
    });
  });

  it('a CNAME to the domain itself, which is returned as "@", is found and removed', async () => {
    const session = await openSession(world);
    const [zone] = await session.zones();
    const record = { fqdn: 'www.example.com', type: 'CNAME', value: 'example.com', ttlS: 60 } as const;
    await session.replace(zone!, record);
    await session.remove(zone!, record);
    expect(await world.list('www.example.com')).toEqual([]);
  });

  it('the domain of a CA is sent with a trailing dot and compared without it', async () => {
    const session = await openSession(world);
    const [zone] = await session.zones();
    const record = { fqdn: 'example.com', type: 'CAA', value: '0 issue "ca.example"', ttlS: null } as const;
    await session.add(zone!, record);
    expect(JSON.parse(world.server.requests.at(-1)!.body)).toEqual({
      type: 'CAA',
      name: '@',
      data: 'ca.example.',
      flags: 0,
      tag: 'issue',
    });
    await session.add(zone!, record);
    expect(await world.list('example.com')).toHaveLength(1);
    await session.remove(zone!, record);
    expect(await world.list('example.com')).toEqual([]);
  });
});
