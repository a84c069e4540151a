import { zoneContent, zoneIn } from '../rfc2136/testing/bind-tools';
import { describeWithPeers, type Peers, type RunningPeer, startPeers } from '../rfc2136/testing/peers';
import { ApiServer, type ApiReply, type RecordedRequest } from '../testing/api-server';
import { describeProvider } from '../testing/conformance';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { openSession, type ProviderSpec, type ProviderWorld } from '../testing/provider-world';
import { testPorts } from '../testing/test-ports';
import { powerdnsProvider } from './powerdns';

const zones = ['example.com', 'sub.example.com', 'example.org'] as const;
const address = '127.0.0.23';
const challenge = '_acme-challenge.example.com';

describeWithPeers(['pdns'], 'a real PowerDNS', () => {
  let peers: Peers;
  let pdns: RunningPeer;
  beforeAll(async () => {
    peers = await startPeers([{ kind: 'pdns', address, zones: zones.map((name) => ({ name })) }]);
    [pdns] = peers.servers as [RunningPeer];
  }, 40_000);
  afterAll(() => peers.stop());

  const place = () => ({ address, port: peers.port });
  const zoneOf = (fqdn: string): string => zoneIn(zones, fqdn);

  /** Sends to the API directly, bypassing the misbehaving server. */
  async function api(method: string, path: string, body?: string): Promise<Response> {
    return await fetch(`${pdns.api}${path}`, { method, headers: { 'x-api-key': `${pdns.apiKey}` }, body });
  }

  async function patch(zone: string, rrsets: readonly object[]): Promise<void> {
    const response = await api(
      'PATCH',
      `/api/v1/servers/localhost/zones/${zone}.`,
      JSON.stringify({ rrsets }),
    );
    if (!response.ok) throw new Error(await response.text());
  }

  async function emptyZones(): Promise<void> {
    const found = (await zoneContent(place(), zones)).filter(
      ({ fqdn }) => !zones.some((zone) => zone === fqdn) && !/^ns\d\./.test(fqdn),
    );
    const rrsets = new Map(found.map(({ fqdn, type }) => [`${fqdn} ${type}`, { fqdn, type }]));
    for (const { fqdn, type } of rrsets.values())
      await patch(zoneOf(fqdn), [{ name: `${fqdn}.`, type, changetype: 'DELETE' }]);
  }

  /** The real server behind a proxy that can be configured to misbehave. */
  async function passOn({ method, path, query, headers, body }: RecordedRequest): Promise<ApiReply> {
    const response = await fetch(`${pdns.api}${path}${query.size > 0 ? `?${query}` : ''}`, {
      method,
      headers: { 'x-api-key': headers['x-api-key'] ?? '', 'content-type': 'application/json' },
      ...(body === '' ? {} : { body }),
    });
    return { status: response.status, body: await response.text() };
  }

  async function setUp(): Promise<ProviderWorld & { readonly server: ApiServer }> {
    await emptyZones();
    const server = await ApiServer.open(passOn);
    const given = { type: 'bearer', endpoint: server.url } as const;
    return {
      provider: powerdnsProvider(),
      credentials: { ...given, api_key: `${pdns.apiKey}` },
      wrongCredentials: { ...given, api_key: 'planted-and-wrong-api-key' },
      account: 'account-1',
      ports: testPorts({ server }),
      server,
      zone: 'example.com',
      subZone: 'sub.example.com',
      zoneNames: zones,
      goneZoneId: 'gone.example.',
      plant: async ({ fqdn, type, value }) => {
        const target = type === 'CNAME' ? `${value}.` : value;
        const content = type === 'TXT' ? `"${value.replace(/["\\]/g, '\\$&')}"` : target;
        const records = [{ content, disabled: false }];
        await patch(zoneOf(fqdn), [{ name: `${fqdn}.`, type, ttl: 77, changetype: 'REPLACE', records }]);
      },
      list: async (fqdn) =>
        (await zoneContent(place(), [zoneOf(fqdn)])).filter((record) => record.fqdn === fqdn),
      close: () => server.close(),
    };
  }

  const spec: ProviderSpec = {
    name: 'powerdns',
    setUp,
    cannot: {
      pages: 'the API gives all zones at once',
      gone_zone: 'it returns 404 without JSON, which is read as rejected',
      gone_zone_removal: 'it returns 404 without JSON, which is read as rejected',
    },
  };
  describeProvider(spec);
  describeMisbehaviour(spec);

  describe('powerdns on the wire', () => {
    let world: Awaited<ReturnType<typeof setUp>>;
    beforeEach(async () => {
      world = await setUp();
    });
    afterEach(() => world.close?.());
    const zone = { id: 'example.com.', name: 'example.com' };
    const txt = (value: string) => ({ fqdn: challenge, type: 'TXT', value, ttlS: null }) as const;

    it('writes a whole RRset, with the key only in its header', async () => {
      const session = await openSession(world);
      await session.add(zone, txt('a"b'));
      const { method, path, headers, body } = world.server.requests.at(-1)!;
      expect({ method, path, body: JSON.parse(body) }).toEqual({
        method: 'PATCH',
        path: '/api/v1/servers/localhost/zones/example.com.',
        body: {
          rrsets: [
            {
              name: `${challenge}.`,
              type: 'TXT',
              changetype: 'REPLACE',
              ttl: 60,
              records: [{ content: '"a\\"b"', disabled: false }],
            },
          ],
        },
      });
      expect(headers['x-api-key']).toBe(pdns.apiKey);
    });

    it('keeps disabled records unchanged, and treats none of them as its own', async () => {
      const records = [{ content: '"ours"', disabled: true }];
      await patch('example.com', [
        { name: `${challenge}.`, type: 'TXT', ttl: 77, changetype: 'REPLACE', records },
      ]);
      const session = await openSession(world);
      await session.add(zone, txt('second'));
      await session.remove(zone, txt('second'));
      await session.remove(zone, txt('ours'));
      const response = await api('GET', '/api/v1/servers/localhost/zones/example.com.');
      const { rrsets } = (await response.json()) as {
        rrsets: { name: string; records: unknown[]; ttl: number }[];
      };
      expect(rrsets.find(({ name }) => name === `${challenge}.`)).toMatchObject({ records, ttl: 77 });
    });

    it('a CNAME beside an address is a conflict, and nothing is changed', async () => {
      await world.plant({ fqdn: challenge, type: 'A', value: '127.0.0.1' });
      const session = await openSession(world);
      const cname = { fqdn: challenge, type: 'CNAME', value: 'x.approval.example', ttlS: 60 } as const;
      await expect(session.replace(zone, cname)).rejects.toMatchObject({ kind: 'conflict' });
      expect((await world.list(challenge)).map(({ type }) => type)).toEqual(['A']);
    });

    it('a database that is busy (HTTP 500) is retried', async () => {
      const session = await openSession(world);
      world.server.misbehave('server_error', 3, ({ method }) => method === 'PATCH');
      await session.add(zone, txt('in the end'));
      expect((await world.list(challenge)).map(({ value }) => value)).toEqual(['in the end']);
    });

    it('independent sessions all succeed in adding their values', async () => {
      const values = Array.from({ length: 8 }, (_, at) => `value ${at}`);
      const sessions = await Promise.all(values.map(() => openSession(world)));
      // At different names: at one name the last write would win, which the zone lock prevents.
      await Promise.all(
        sessions.map((session, at) =>
          session.add(zone, { ...txt(String(values[at])), fqdn: `_v${at}.example.com` }),
        ),
      );
      const found = await Promise.all(values.map((_, at) => world.list(`_v${at}.example.com`)));
      expect(found.map((records) => records.map(({ value }) => value))).toEqual(
        values.map((value) => [value]),
      );
    });
  });
});
