import { externalIdOf } from '../external-id';
import { type ApiReply, ApiServer, type RecordedRequest } from '../testing/api-server';
import { describeProvider } from '../testing/conformance';
import { zonesWorld } from '../testing/fake-world';
import { FakeZones, zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { openSession, type ProviderSpec, type ProviderWorld } from '../testing/provider-world';
import { testPorts } from '../testing/test-ports';
import { azureProvider } from './azure';
import { FakeAzure, fakeSubscription } from './testing/fake-azure';

const never = new AbortController().signal;

const names = zoneNames(8);
const tenant_id = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee';
const azure = {
  clientId: '99999999-8888-7777-6666-555555555555',
  clientSecret: 'planted-application-secret',
  externalIdSecret: 'sixteen bytes or more',
};
const externalId = externalIdOf(azure.externalIdSecret, 'azure', 'account-1');

interface World extends ProviderWorld {
  readonly server: ApiServer;
  readonly fake: FakeAzure;
  readonly tokens: Set<string>;
}

/** Microsoft Entra ID, client credentials. */
function entra({ path, body }: RecordedRequest, tokens: Set<string>): ApiReply {
  const form = new URLSearchParams(body);
  const isOurs = form.get('client_id') === azure.clientId && form.get('client_secret') === azure.clientSecret;
  if (!isOurs || form.get('scope') !== 'https://management.azure.com/.default') {
    return { status: 401, body: { error: 'invalid_client', error_description: 'AADSTS7000215' } };
  }
  if (!path.includes(tenant_id)) {
    return { status: 400, body: { error: 'unauthorized_client', error_description: 'AADSTS700016' } };
  }
  const access_token = `access-token-${tokens.size + 1}-of-the-tenant`;
  tokens.add(access_token);
  return {
    status: 200,
    body: { token_type: 'Bearer', expires_in: 3_599, ext_expires_in: 3_599, access_token },
  };
}

async function setUp(): Promise<World> {
  const zones = new FakeZones(
    [...names, 'private.example', 'untagged.example', 'tagged-otherwise.example'],
    FakeAzure.idOf,
  );
  const tokens = new Set<string>();
  const fake = new FakeAzure(zones, (token) => tokens.has(token));
  for (const name of [...names, 'private.example'])
    fake.tags.set(name, { 'certwright-external-id': externalId });
  fake.tags.set('tagged-otherwise.example', {
    'certwright-external-id': 'certwright-of-another-account',
  });
  const server = await ApiServer.open((request) =>
    request.path.startsWith('/login/') ? entra(request, tokens) : fake.respond(request),
  );
  return {
    ...zonesWorld(server, zones, names),
    goneZoneId: FakeAzure.idOf('gone.example'),
    provider: azureProvider({ baseUrl: server.url, loginUrl: `${server.url}/login`, azure }),
    credentials: { type: 'cloud_account', tenant_id, subscription_id: fakeSubscription },
    wrongCredentials: {
      type: 'cloud_account',
      tenant_id: tenant_id.replace('a', 'b'),
      subscription_id: fakeSubscription,
    },
    ports: testPorts({ server }),
    fake,
    tokens,
    secrets: [azure.clientSecret],
  };
}

const spec: ProviderSpec = {
  name: 'azure',
  setUp,
  cannot: { gone_zone_removal: 'a missing RRset and a missing zone have the same status' },
};
describeProvider(spec);
describeMisbehaviour(spec);

describe('azure on the wire', () => {
  let world: World;
  beforeEach(async () => {
    world = await setUp();
  });
  afterEach(() => world.close?.());
  const fqdn = '_acme-challenge.example.com';
  const open = async (account: string) => {
    const kept = await world.provider.accept(world.credentials, account, world.ports, never);
    return world.provider.session(kept, account, world.ports, never);
  };

  it('a value is added with the ETag that was read, and foreign values in the set are kept', async () => {
    await world.plant({ fqdn, type: 'TXT', value: 'of others' });
    world.fake.metadata.set(`${fqdn} TXT`, { owner: 'somebody' });
    const session = await openSession(world);
    const [zone] = await session.zones();
    await session.add(zone!, { fqdn, type: 'TXT', value: 'ours', ttlS: 120 });
    const { method, path, query, headers, body } = world.server.requests.at(-1)!;
    expect([method, path, query.toString()]).toEqual([
      'PUT',
      `/subscriptions/${fakeSubscription}/resourceGroups/dns-rg/providers/Microsoft.Network/dnsZones/example.com/TXT/_acme-challenge`,
      'api-version=2018-05-01',
    ]);
    expect(headers['if-match']).toMatch(/^etag-/);
    expect(JSON.parse(body)).toEqual({
      properties: {
        TTL: 300,
        TXTRecords: [{ value: ['of others'] }, { value: ['ours'] }],
        metadata: { owner: 'somebody' },
      },
    });
  });

  it('the first value is added only if there is none yet', async () => {
    const session = await openSession(world);
    const [zone] = await session.zones();
    await session.add(zone!, { fqdn, type: 'TXT', value: 'x'.repeat(300), ttlS: null });
    const { headers, body } = world.server.requests.at(-1)!;
    expect([headers['if-match'], headers['if-none-match']]).toEqual([undefined, '*']);
    expect(JSON.parse(body)).toEqual({
      properties: { TTL: 60, TXTRecords: [{ value: ['x'.repeat(255), 'x'.repeat(45)] }] },
    });
  });

  it('concurrent changes without a lock keep all values, by ETags alone', async () => {
    const values = Array.from({ length: 8 }, (_, at) => `value-${at}`);
    const sessions = await Promise.all(values.map(() => open('account-1')));
    const [zone] = await sessions[0]!.zones();
    await Promise.all(
      values.map((value, at) => sessions[at]!.add(zone!, { fqdn, type: 'TXT', value, ttlS: null })),
    );
    expect((await world.list(fqdn)).map(({ value }) => value).sort()).toEqual(values);
  });

  it('another account that names the same subscription sees none of its zones, because they are tagged for the first', async () => {
    expect(await (await open('account-2')).zones()).toEqual([]);
    expect((await (await open('account-1')).zones()).map(({ name }) => name).sort()).toEqual(
      [...names].sort(),
    );
  });

  it('a token revoked before its expiry is replaced once', async () => {
    const session = await openSession(world);
    await session.zones();
    world.tokens.clear();
    expect((await session.zones()).length).toBe(names.length);
  });

  it('the next page is never fetched from another host', async () => {
    const session = await openSession(world);
    await session.zones();
    const lists = world.server.requests.filter(({ path }) => path.endsWith('/dnszones'));
    expect(lists.map(({ query }) => query.get('$skipToken'))).toEqual([null, '3', '6', '9']);
  });

  it('a next page that cannot be requested is an error, not the end of the list', async () => {
    const { ports } = world;
    const callApi: typeof ports.callApi = async (request, signal) => {
      const response = await ports.callApi(request, signal);
      return { ...response, text: response.text.replace('$skipToken', '$somethingElse') };
    };
    const session = await openSession({ ...world, ports: { ...ports, callApi } });
    await expect(session.zones()).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
