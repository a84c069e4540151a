import { describeProvider } from '../testing/conformance';
import { oauthWorld } from '../testing/fake-world';
import { FakeZones, zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { describeOauth, oauthClient, type OauthWorld } from '../testing/oauth-conformance';
import { openSession, type ProviderSpec, racingSession } from '../testing/provider-world';
import { googleProvider } from './google';
import { FakeGoogle } from './testing/fake-google';

const names = zoneNames(8);
const project = 'shop-dns-123456';
let api: FakeGoogle;

async function setUp(codesLast = true): Promise<OauthWorld> {
  const zones = new FakeZones([...names, 'private.example'], (_, at) => `zone-${at}`);
  const world = await oauthWorld({
    zones,
    names,
    oauth: { clientAuthentication: 'form', rotates: false, expiresInS: 3_599, codesLast },
    api: (isToken) => (api = new FakeGoogle(zones, project, isToken)),
    provider: googleProvider,
    credentials: { type: 'oauth_code', code: 'planted-code-123456', project },
    wrongCredentials: { type: 'oauth_code', code: 'another-code-123456', project },
  });
  return {
    ...world,
    goneZoneId: 'zone-gone',
    // For a change, not for the request for a token.
    loseNextResponse: () =>
      world.server.misbehave('applied_then_cut', 1, ({ path }) => path.endsWith('/changes')),
    secrets: [oauthClient.clientSecret],
  };
}

const spec: ProviderSpec = { name: 'google', setUp: () => setUp() };
describeProvider(spec);
describeMisbehaviour(spec);
describeOauth({ name: 'google', rotates: false, setUp: () => setUp(false) });

describe('google on the wire', () => {
  let world: OauthWorld;
  beforeEach(async () => {
    world = await setUp();
  });
  afterEach(() => world.close?.());
  const fqdn = '_acme-challenge.example.com';

  it('a value is added by deleting the RRset as read and adding the extended one, in one change', async () => {
    await world.plant({ fqdn, type: 'TXT', value: 'of others' });
    const session = await openSession(world);
    const [zone] = await session.zones();
    await session.add(zone!, { fqdn, type: 'TXT', value: 'ours; "x"', ttlS: 120 });
    const { method, path, body } = world.server.requests.at(-1)!;
    expect({ method, path, body: JSON.parse(body) }).toEqual({
      method: 'POST',
      path: `/dns/v1/projects/${project}/managedZones/zone-0/changes`,
      body: {
        deletions: [{ name: `${fqdn}.`, type: 'TXT', ttl: 300, rrdatas: ['"of others"'] }],
        additions: [{ name: `${fqdn}.`, type: 'TXT', ttl: 300, rrdatas: ['"of others"', '"ours; \\"x\\""'] }],
      },
    });
  });

  it('a replacement clears the other types in the same change', async () => {
    await world.plant({ fqdn, type: 'TXT', value: 'old' });
    const session = await openSession(world);
    const [zone] = await session.zones();
    const before = world.server.requests.length;
    await session.replace(zone!, { fqdn, type: 'CNAME', value: 'x.approval.example', ttlS: null });
    const changes = world.server.requests.slice(before).filter(({ method }) => method === 'POST');
    expect(changes.map(({ body }) => JSON.parse(body))).toEqual([
      {
        deletions: [{ name: `${fqdn}.`, type: 'TXT', ttl: 300, rrdatas: ['"old"'] }],
        additions: [{ name: `${fqdn}.`, type: 'CNAME', ttl: 60, rrdatas: ['x.approval.example.'] }],
      },
    ]);
  });

  it('a change is decided again after a concurrent change', async () => {
    const session = await openSession(world);
    const [zone] = await session.zones();
    const theirs = { fqdn, type: 'TXT', value: 'theirs', ttlS: null } as const;
    const racing = await racingSession(world, () => session.add(zone!, theirs));
    await racing.add(zone!, { fqdn, type: 'TXT', value: 'ours', ttlS: null });
    expect((await world.list(fqdn)).map(({ value }) => value)).toEqual(['theirs', 'ours']);
  });

  it('an RRset with a routing policy stays unchanged', async () => {
    await world.plant({ fqdn, type: 'TXT', value: 'by weight' });
    api.routed.add(`${fqdn} TXT`);
    const session = await openSession(world);
    const [zone] = await session.zones();
    const added = session.add(zone!, { fqdn, type: 'TXT', value: 'text', ttlS: null });
    await expect(added).rejects.toMatchObject({ kind: 'conflict' });
    expect(world.server.requests.filter(({ path }) => path.endsWith('/changes'))).toEqual([]);
  });

  it.each([
    ['rateLimitExceeded', 'rate_limited'],
    ['quotaExceeded', 'rejected'],
    ['forbidden', 'auth_failed'],
  ])('403 because of %s is %s', async (reason, kind) => {
    const session = await openSession(world);
    await session.zones();
    api.refusal = reason;
    await expect(session.zones()).rejects.toMatchObject({ kind });
  });

  it('the authorization URL requests offline access', () => {
    const [kind] = world.provider.credentialKinds('account-1');
    const { searchParams } = new URL(String(kind?.authorization_url));
    expect([searchParams.get('access_type'), searchParams.get('prompt')]).toEqual(['offline', 'consent']);
    expect(searchParams.get('scope')).toBe('https://www.googleapis.com/auth/ndev.clouddns.readwrite');
  });

  it('is not offered without a registration', () => {
    expect(googleProvider({ oauth: null }).credentialKinds('account-1')).toEqual([]);
  });
});
