import type { Zone } from '@certwright/gateway-contract';
import type { ApiRequest } from '../http/call-api';
import { describeProvider } from '../testing/conformance';
import { type FakeWorld, tokenWorld } from '../testing/fake-world';
import { zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { oauthClient } from '../testing/oauth-conformance';
import { openSession, type ProviderSpec } from '../testing/provider-world';
import { testPorts } from '../testing/test-ports';
import { dnsimpleProvider } from './dnsimple';
import { FakeDnsimple } from './testing/fake-dnsimple';
import { whoamiAccount } from './testing/fixtures';

const zone = 'example.com';
const names = zoneNames(203);

async function worldOf(): Promise<FakeWorld<FakeDnsimple>> {
  const fake = await FakeDnsimple.open(names);
  return tokenWorld(fake, names, dnsimpleProvider({ baseUrl: fake.server.url, oauth: oauthClient }));
}

const spec: ProviderSpec = { name: 'DNSimple', setUp: worldOf };
describeProvider(spec);
describeMisbehaviour(spec);

describe('DNSimple', () => {
  const fqdn = `_acme-challenge.${zone}`;
  const at: Zone = { id: zone, name: zone };
  const record = { fqdn, type: 'TXT', value: 'v', ttlS: null } as const;
  let world: FakeWorld<FakeDnsimple>;

  beforeEach(async () => (world = await worldOf()));
  afterEach(() => world.server.close());

  const sent = () =>
    world.server.requests
      .filter(({ method }) => method === 'POST')
      .map(({ path, body }) => [path, JSON.parse(body) as unknown]);

  it('a TXT record is sent in quotes, in strings of 255 bytes, to the account of the token', async () => {
    const session = await openSession(world);
    await session.add(at, { ...record, value: `a"b${'c'.repeat(253)}` });
    await session.add(at, { ...record, ttlS: 60 });
    const path = '/1010/zones/example.com/records';
    const named = { name: '_acme-challenge', type: 'TXT' };
    expect(sent()).toEqual([
      [path, { ...named, content: `"a\\"b${'c'.repeat(252)}" "c"` }],
      [path, { ...named, content: '"v"', ttl: 60 }],
    ]);
  });

  it('targets are sent without a trailing dot', async () => {
    const session = await openSession(world);
    await session.replace(at, { fqdn, type: 'CNAME', value: 'x.approval.example', ttlS: null });
    expect(sent()).toEqual([
      [expect.any(String), { name: '_acme-challenge', type: 'CNAME', content: 'x.approval.example' }],
    ]);
  });

  it('an old TXT record without quotes is found and removed', async () => {
    world.fake.plantContent(fqdn, zone, 'TXT', 'two words');
    const session = await openSession(world);
    await session.remove(at, { ...record, value: 'two words' });
    expect(world.fake.list(fqdn)).toEqual([]);
  });

  it('a record that another client added meanwhile is a success', async () => {
    const session = await openSession(world);
    world.fake.beforeNextCreation(() => world.fake.plant(record, zone));
    await session.add(at, record);
    expect(world.fake.list(fqdn)).toHaveLength(1);
  });

  it('the token of a user is a bad request that names the member', async () => {
    const credentials = { type: 'bearer', token: world.fake.userToken } as const;
    await expect(openSession(world, credentials)).rejects.toMatchObject({
      code: 'bad_request',
      faults: [{ field: 'credentials.token', code: 'invalid_value' }],
    });
  });

  it.each([
    [{}, 'https://api.dnsimple.com/v2/whoami'],
    [{ environment: 'sandbox' }, 'https://api.sandbox.dnsimple.com/v2/whoami'],
  ])('credentials %j are checked at %s', async (more, expected) => {
    const requested: string[] = [];
    const callApi = async ({ url }: ApiRequest) => {
      requested.push(url);
      return { status: 200, headers: {}, text: JSON.stringify(whoamiAccount.body) };
    };
    const credentials = { type: 'bearer', token: 'dnsimple_a_x', ...more } as const;
    const ports = { ...testPorts(), callApi };
    const never = new AbortController().signal;
    const kept = await dnsimpleProvider({ oauth: null }).accept(credentials, 'acct_1', ports, never);
    expect(requested).toEqual([expected]);
    expect(kept['account']).toBe('1010');
  });

  const byCode = (state: string, code = 'planted-code-123456') =>
    ({ type: 'oauth_code', code, state }) as const;

  it('a code is exchanged once, with its state, for a token that lasts', async () => {
    const session = await openSession(world, byCode(world.fake.state));
    expect((await session.zones()).length).toBe(names.length);
    await session.add(at, record);
    expect(world.fake.list(fqdn)).toHaveLength(1);
    await expect(openSession(world, byCode(world.fake.state))).rejects.toMatchObject({
      kind: 'auth_failed',
    });
  });

  it('a state that does not match the code is refused, and a missing one is a bad request', async () => {
    await expect(openSession(world, byCode('another'))).rejects.toMatchObject({ kind: 'rejected' });
    await expect(openSession(world, { type: 'oauth_code', code: 'c' })).rejects.toMatchObject({
      faults: [{ field: 'credentials.state', code: 'missing_field' }],
    });
  });

  it('a failed exchange discloses neither the code nor the secret of this service', async () => {
    world.server.misbehave('echo');
    const attempt = openSession(world, byCode(world.fake.state));
    const error = await attempt.then(String, String);
    expect(error).toContain('DNSimple refused the request');
    expect(error).not.toMatch(/planted/);
  });

  it('OAuth is offered with an authorization URL, and only with a registration', () => {
    const [, kind] = world.provider.credentialKinds('acct_1');
    const url = new URL(kind?.authorization_url ?? '');
    expect(`${url.origin}${url.pathname}`).toBe('https://app.dnsimple.com/oauth/authorize');
    expect(url.searchParams.get('redirect_uri')).toBe(oauthClient.redirectUri);
    expect(kind?.members.map(({ name }) => name)).toEqual(['code', 'code_verifier', 'state']);
    expect(dnsimpleProvider({ oauth: null }).credentialKinds('acct_1')).toHaveLength(1);
  });

  it('an unknown environment is a bad request that names the member', async () => {
    const credentials = {
      type: 'bearer',
      token: 'dnsimple_a_x',
      environment: 'https://evil.example',
    } as const;
    await expect(openSession(world, credentials)).rejects.toMatchObject({
      faults: [{ field: 'credentials.environment' }],
    });
  });

  it('a secondary zone is not listed', async () => {
    const session = await openSession(world);
    expect((await session.zones()).map(({ name }) => name)).not.toContain('copy.example');
  });
});
