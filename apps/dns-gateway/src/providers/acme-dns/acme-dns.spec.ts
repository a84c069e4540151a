import { ApiServer } from '../testing/api-server';
import { openSession, type ProviderWorld } from '../testing/provider-world';
import { testPorts } from '../testing/test-ports';
import { acmeDnsProvider } from './acme-dns';
import { FakeAcmeDns, registration } from './testing/fake-acme-dns';

const { fulldomain } = registration;
const [first, second, third] = ['A', 'B', 'C'].map((letter) => letter.repeat(43)) as [string, string, string];
const zone = { id: registration.subdomain, name: 'auth.example.org' };
const txt = (value: string, fqdn: string = fulldomain) => ({ fqdn, type: 'TXT', value, ttlS: null }) as const;

/**
 * Only part of the conformance suite applies, because it requires zones with removable records. acme-dns does not
 * support other names, types other than TXT, texts other than a digest, removal, replacement or reading.
 */
describe('acme-dns as a DNS provider', () => {
  let server: ApiServer;
  let fake: FakeAcmeDns;
  let world: ProviderWorld;
  beforeEach(async () => {
    fake = new FakeAcmeDns();
    server = await ApiServer.open(fake.respond);
    const credentials = { type: 'bearer', endpoint: server.url, ...registration } as const;
    world = {
      provider: acmeDnsProvider(),
      credentials,
      wrongCredentials: { ...credentials, password: 'another-password-that-is-planted' },
      account: 'account-1',
      ports: testPorts({ server }),
      server,
      zone: zone.name,
      zoneNames: [zone.name],
      plant: () => Promise.reject(new Error('There are no records of others here.')),
      list: () => Promise.resolve([]),
    };
  });
  afterEach(() => server.close());

  it('has one zone, the parent of its name', async () => {
    expect(await (await openSession(world)).zones()).toEqual([zone]);
  });

  it('adds a value as documented, and keeps two values', async () => {
    const session = await openSession(world);
    await session.add(zone, txt(first));
    await session.add(zone, txt(second));
    expect(fake.values).toEqual([first, second]);
    const { method, path, headers, body } = server.requests[0]!;
    expect({ method, path, body: JSON.parse(body) }).toEqual({
      method: 'POST',
      path: '/update',
      body: { subdomain: registration.subdomain, txt: first },
    });
    expect(headers).toMatchObject({
      'x-api-user': registration.username,
      'x-api-key': registration.password,
    });
  });

  it('removal succeeds and changes nothing', async () => {
    const session = await openSession(world);
    await session.add(zone, txt(first));
    await session.remove(zone, txt(first));
    await session.remove(zone, txt(second));
    expect(fake.values).toEqual(['', first]);
    expect(server.requests).toHaveLength(1);
  });

  it('a third value replaces the first', async () => {
    const session = await openSession(world);
    for (const value of [first, second, third]) await session.add(zone, txt(value));
    expect(fake.values).toEqual([second, third]);
  });

  it.each([
    [{ ...txt(first), fqdn: 'other.auth.example.org' }, 'zone_not_found'],
    [{ ...txt(first), fqdn: `_acme-challenge.${fulldomain}` }, 'zone_not_found'],
    [txt('short'), 'rejected'],
    [txt(`${'A'.repeat(42)}=`), 'rejected'],
    [{ fqdn: fulldomain, type: 'CNAME', value: 'x.approval.example', ttlS: null } as const, 'rejected'],
  ])('refuses %j before anything is sent', async (record, kind) => {
    const session = await openSession(world);
    await expect(session.add(zone, record)).rejects.toMatchObject({ name: 'ProviderFault', kind });
    expect(server.requests).toEqual([]);
  });

  it('refuses a replacement, which is not supported', async () => {
    const session = await openSession(world);
    await expect(session.replace(zone, txt(first))).rejects.toMatchObject({ kind: 'rejected' });
  });

  it('a password that the server refuses is auth_failed', async () => {
    const session = await openSession(world, world.wrongCredentials);
    await expect(session.add(zone, txt(first))).rejects.toMatchObject({ kind: 'auth_failed' });
  });

  it.each([
    ['rate_limited', 'rate_limited'],
    ['server_error', 'unavailable'],
    ['html', 'unavailable'],
    ['truncated', 'unavailable'],
    ['unsuccessful', 'unavailable'],
    ['wrong_shape', 'unavailable'],
    ['cut', 'unavailable'],
    ['silent', 'unavailable'],
    ['echo', 'rejected'],
  ] as const)(
    '%s: a change is a fault without a secret in it, and is made when it is repeated',
    async (how, kind) => {
      const session = await openSession(world);
      server.misbehave(how, 1_000);
      const fault = (await session.add(zone, txt(first)).catch((error: unknown) => error)) as Error;
      expect(fault).toMatchObject({ name: 'ProviderFault', kind });
      for (const secret of [registration.password, registration.username])
        expect(fault.message).not.toContain(secret);
      server.misbehave(how, 0);
      await session.add(zone, txt(first));
      expect(fake.values).toContain(first);
    },
  );

  it.each([
    [{ fulldomain: 'other.auth.example.org' }, 'credentials.fulldomain'],
    [{ subdomain: 'a.b' }, 'credentials.subdomain'],
    [{ endpoint: 'http://auth.example.org' }, 'credentials.endpoint'],
  ])('refuses credentials with %j', async (wrong, field) => {
    await expect(openSession(world, { ...world.credentials, ...wrong } as never)).rejects.toMatchObject({
      code: 'bad_request',
      faults: [{ field }],
    });
  });
});
