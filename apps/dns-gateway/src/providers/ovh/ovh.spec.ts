import type { Zone } from '@certwright/gateway-contract';
import type { ApiRequest } from '../http/call-api';
import { describeProvider } from '../testing/conformance';
import { type FakeWorld, fakeWorld } from '../testing/fake-world';
import { zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { openSession, type ProviderSpec } from '../testing/provider-world';
import { testPorts } from '../testing/test-ports';
import { invalidSignature, notGranted, queryTimeOut } from './testing/fixtures';
import { ovhProvider } from './ovh';
import { signatureOf } from './ovh-authorizer';
import { FakeOvh } from './testing/fake-ovh';

const zone = 'example.com';
const names = zoneNames(3);

async function worldOf(): Promise<FakeWorld<FakeOvh>> {
  const fake = await FakeOvh.open(names);
  const credentials = {
    type: 'bearer',
    application_key: fake.applicationKey,
    application_secret: fake.applicationSecret,
    consumer_key: fake.consumerKey,
  } as const;
  return fakeWorld(fake, names, {
    provider: ovhProvider({ baseUrl: fake.server.url }),
    credentials,
    wrongCredentials: { ...credentials, application_secret: 'not-that-secret' },
  });
}

const spec: ProviderSpec = {
  name: 'OVHcloud',
  setUp: worldOf,
  cannot: { pages: 'its lists are not in pages' },
};
describeProvider(spec);
describeMisbehaviour(spec);

describe('OVHcloud', () => {
  const fqdn = `_acme-challenge.${zone}`;
  const at: Zone = { id: zone, name: zone };
  const record = { fqdn, type: 'TXT', value: 'v', ttlS: null } as const;
  let world: FakeWorld<FakeOvh>;

  beforeEach(async () => (world = await worldOf()));
  afterEach(() => world.server.close());

  const changes = () =>
    world.server.requests
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path, body }) => [method, path, body === '' ? null : (JSON.parse(body) as unknown)]);

  it('the signature matches the documented example', () => {
    const keys = {
      applicationKey: '7kbG7Bk7S9Nt7ZSV',
      applicationSecret: 'EXEgWIz07P0HYwtQDs7cNIqCiQaWSuHF',
      consumerKey: 'MtSwSrPpNjqfVSmJhLbPyr2i45lSwPU1',
    };
    const url = 'https://eu.api.ovh.com/1.0/domains/';
    expect(signatureOf({ method: 'GET', url }, keys, 1_366_560_945)).toBe(
      '$1$d3705e8afb27a0d2970a322b96550abfc67bb798',
    );
  });

  it('requests are signed with the time of the server, which is read once per session', async () => {
    world.fake.aheadS = -86_400;
    const session = await openSession(world);
    await session.zones();
    await session.add(at, record);
    expect(world.fake.list(fqdn)).toHaveLength(1);
    const requested = world.server.requests.filter(({ path }) => path === '/auth/time');
    expect(requested).toHaveLength(1);
    expect(Object.keys(requested[0]!.headers)).not.toContain('x-ovh-consumer');
  });

  it('a TXT record is sent in quotes, in strings of 255 bytes, and then the zone is published', async () => {
    const session = await openSession(world);
    await session.add(at, { ...record, value: `a"b${'c'.repeat(253)}`, ttlS: 1 });
    expect(changes()).toEqual([
      [
        'POST',
        '/domain/zone/example.com/record',
        { fieldType: 'TXT', subDomain: '_acme-challenge', target: `"a\\"b${'c'.repeat(252)}" "c"`, ttl: 60 },
      ],
      ['POST', '/domain/zone/example.com/refresh', null],
    ]);
  });

  it('repeating a change publishes a zone that was not published after it', async () => {
    const session = await openSession(world);
    world.server.misbehave('cut', 3, ({ path }) => path.endsWith('/refresh'));
    await expect(session.add(at, record)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(world.fake.list(fqdn)).toEqual([]);
    await session.add(at, record);
    expect(world.fake.list(fqdn)).toHaveLength(1);
    world.server.misbehave('cut', 3, ({ path }) => path.endsWith('/refresh'));
    await expect(session.remove(at, record)).rejects.toMatchObject({ kind: 'unavailable' });
    await session.remove(at, record);
    expect(world.fake.list(fqdn)).toEqual([]);
  });

  it('a record that was added and could not be published is an unknown outcome, so that it can be removed', async () => {
    const session = await openSession(world);
    world.server.misbehave('rate_limited', 3, ({ path }) => path.endsWith('/refresh'));
    await expect(session.add(at, record)).rejects.toMatchObject({ kind: 'unavailable', retryAfterS: 30 });
    world.server.misbehave('forbidden', 1, ({ path }) => path.endsWith('/refresh'));
    await expect(session.add(at, { ...record, value: 'w' })).rejects.toMatchObject({ kind: 'unavailable' });
    // It existed before this one.
    world.server.misbehave('forbidden', 1, ({ path }) => path.endsWith('/refresh'));
    await expect(session.add(at, record)).rejects.toMatchObject({ kind: 'auth_failed' });
  });

  it('records at other names matched by the filter stay', async () => {
    const similar = `xacme-challenge.${zone}`;
    world.fake.plant({ fqdn: similar, type: 'TXT', value: 'v' }, zone);
    const session = await openSession(world);
    await session.replace(at, record);
    await session.remove(at, record);
    expect(world.fake.list(similar)).toHaveLength(1);
  });

  it('a value that is stored as another one is removed and refused', async () => {
    world.fake.losesEscapes = true;
    const session = await openSession(world);
    await expect(session.add(at, { ...record, value: 'a\\b' })).rejects.toMatchObject({ kind: 'rejected' });
    expect(changes().map(([method]) => method)).toEqual(['POST', 'DELETE']);
  });

  it.each([
    ['a signature that does not hold', invalidSignature, 'auth_failed'],
    ['a right that was not given', notGranted, 'auth_failed'],
    ['a timestamp out of time', queryTimeOut, 'unavailable'],
  ])('%s is an error of the right kind', async (_, reply, kind) => {
    const session = await openSession(world);
    world.fake.refuseAll(reply);
    await expect(session.add(at, record)).rejects.toMatchObject({ kind });
  });

  it.each([
    [undefined, 'https://eu.api.ovh.com/1.0'],
    ['ca', 'https://ca.api.ovh.com/1.0'],
    ['us', 'https://api.us.ovhcloud.com/1.0'],
  ])('endpoint %p is %s', async (endpoint, expected) => {
    const requested: string[] = [];
    const callApi = async ({ url }: ApiRequest) => {
      requested.push(url);
      return { status: 200, headers: {}, text: url.endsWith('/auth/time') ? '1800000000' : '[]' };
    };
    const given = endpoint === undefined ? world.credentials : { ...world.credentials, endpoint };
    const ports = { ...testPorts(), callApi };
    const { signal } = new AbortController();
    const provider = ovhProvider();
    const kept = await provider.accept(given, 'acct_1', ports, signal);
    await provider.session(kept, 'acct_1', ports, signal).zones();
    expect(requested).toEqual([`${expected}/auth/time`, `${expected}/domain/zone`]);
  });

  it.each(['application_key', 'application_secret', 'consumer_key'])('%s must be there', async (member) => {
    const { [member]: _, ...rest } = world.credentials as Readonly<Record<string, string>>;
    await expect(openSession(world, { ...rest, type: 'bearer' })).rejects.toMatchObject({
      faults: [{ field: `credentials.${member}`, code: 'missing_field' }],
    });
  });

  it('an unknown endpoint is a bad request that names the member', async () => {
    const credentials = { ...world.credentials, endpoint: 'https://evil.example' } as const;
    await expect(openSession(world, credentials)).rejects.toMatchObject({
      faults: [{ field: 'credentials.endpoint' }],
    });
  });
});
