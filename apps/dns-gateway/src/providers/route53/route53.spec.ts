import { externalIdOf } from '../external-id';
import { ApiServer } from '../testing/api-server';
import { describeProvider } from '../testing/conformance';
import { zonesWorld } from '../testing/fake-world';
import { FakeZones, zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { openSession, type ProviderSpec, type ProviderWorld, racingSession } from '../testing/provider-world';
import { testPorts } from '../testing/test-ports';
import { route53Provider } from './route53';
import { FakeRoute53 } from './testing/fake-route53';

const never = new AbortController().signal;

const names = zoneNames(8);
const role_arn = 'arn:aws:iam::111122223333:role/certwright';
const aws = {
  accessKeyId: 'AKIAOPERATOR',
  secretAccessKey: 'planted-operator-secret',
  sessionToken: null,
  principalArn: 'arn:aws:iam::999988887777:user/certwright',
  stsRegion: 'eu-central-1',
  externalIdSecret: 'sixteen bytes or more',
};

interface World extends ProviderWorld {
  readonly server: ApiServer;
  readonly fake: FakeRoute53;
  advance(seconds: number): void;
}

async function setUp(): Promise<World> {
  const zones = new FakeZones([...names, 'private.example'], (_, at) => `Z0${at}ABC`);
  let now = Date.now();
  const fake = new FakeRoute53(zones, () => new Date(now));
  fake.roles.set(role_arn, { externalId: externalIdOf(aws.externalIdSecret, 'route53', 'account-1') });
  const server = await ApiServer.open(fake.respond);
  return {
    ...zonesWorld(server, zones, names),
    goneZoneId: 'Z0GONE',
    provider: route53Provider({ baseUrl: server.url, stsUrl: `${server.url}/sts`, aws }),
    credentials: { type: 'cloud_account', role_arn },
    wrongCredentials: { type: 'cloud_account', role_arn: `${role_arn}-of-others` },
    ports: testPorts({ server, now: () => new Date(now) }),
    fake,
    advance: (seconds) => (now += seconds * 1000),
    secrets: ['planted-operator-secret', 'planted-role-secret-key', 'planted-session-token'],
  };
}

const spec: ProviderSpec = { name: 'route53', setUp };
describeProvider(spec);
describeMisbehaviour(spec);

describe('route53 on the wire', () => {
  let world: World;
  beforeEach(async () => {
    world = await setUp();
  });
  afterEach(() => world.close?.());
  const fqdn = '_acme-challenge.example.com';
  const accept = (account = 'account-1') =>
    world.provider.accept(world.credentials, account, world.ports, never);

  it('a value is added by deleting the RRset as read and creating the extended one, in one batch', async () => {
    await world.plant({ fqdn, type: 'TXT', value: 'of <others> & "more"' });
    const session = await openSession(world);
    const [zone] = await session.zones();
    await session.add(zone!, { fqdn, type: 'TXT', value: 'ours\\', ttlS: 120 });
    const { method, path, body } = world.server.requests.at(-1)!;
    const others = '<ResourceRecord><Value>"of &lt;others&gt; &amp; \\"more\\""</Value></ResourceRecord>';
    const rrset = (records: string) =>
      `<ResourceRecordSet><Name>${fqdn}.</Name><Type>TXT</Type><TTL>300</TTL>` +
      `<ResourceRecords>${records}</ResourceRecords></ResourceRecordSet>`;
    expect([method, path]).toEqual(['POST', '/2013-04-01/hostedzone/Z00ABC/rrset']);
    expect(body).toBe(
      '<?xml version="1.0" encoding="UTF-8"?>' +
        '<ChangeResourceRecordSetsRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeBatch><Changes>' +
        `<Change><Action>DELETE</Action>${rrset(others)}</Change>` +
        `<Change><Action>CREATE</Action>${rrset(`${others}<ResourceRecord><Value>"ours\\\\"</Value></ResourceRecord>`)}</Change>` +
        '</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>',
    );
  });

  it.each([
    ['came', null, 'theirs'],
    ['went', 'theirs', null],
    ['changed', 'theirs', 'theirs as well'],
  ])('an RRset that %s between our read and our write is read again', async (_, before, meanwhile) => {
    if (before !== null) await world.plant({ fqdn, type: 'TXT', value: before });
    const other = await openSession(world);
    const [zone] = await other.zones();
    const record = (value: string) => ({ fqdn, type: 'TXT', value, ttlS: null }) as const;
    const others = jest.fn(() =>
      meanwhile === null ? other.remove(zone!, record(String(before))) : other.add(zone!, record(meanwhile)),
    );
    const racing = await racingSession(world, others);
    await racing.add(zone!, record('ours'));
    const left = [meanwhile === null ? null : before, meanwhile, 'ours'].filter((value) => value !== null);
    expect((await world.list(fqdn)).map(({ value }) => value)).toEqual(left);
    expect(others).toHaveBeenCalledTimes(1);
  });

  it('the role is assumed once per hour, with the external id and a policy of four actions', async () => {
    const session = await openSession(world);
    await Promise.all([session.zones(), session.zones(), session.zones()]);
    expect(world.fake.assumed).toBe(1);
    const form = new URLSearchParams(
      world.server.requests.filter(({ path }) => path === '/sts/').at(-1)!.body,
    );
    expect(form.get('ExternalId')).toMatch(/^certwright-[a-z2-7]{52}$/);
    expect(JSON.parse(form.get('Policy') ?? '')).toEqual({
      Version: '2012-10-17',
      Statement: [
        {
          Effect: 'Allow',
          Action: [
            'route53:ListHostedZones',
            'route53:ListResourceRecordSets',
            'route53:ChangeResourceRecordSets',
            'route53:GetChange',
          ],
          Resource: '*',
        },
      ],
    });
    world.advance(3_400);
    await session.zones();
    expect(world.fake.assumed).toBe(2);
  });

  it('a session that AWS ended early is requested again', async () => {
    const session = await openSession(world);
    await session.zones();
    world.server.misbehave('forbidden', 1, ({ path }) => path.includes('hostedzone'));
    await expect(session.zones()).rejects.toMatchObject({ kind: 'auth_failed' });
    expect((await session.zones()).length).toBe(world.zoneNames.length);
    expect(world.fake.assumed).toBe(2);
  });

  it('a role that requires no external id is not accepted', async () => {
    world.fake.roles.set(role_arn, { externalId: null });
    await expect(accept()).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('ExternalId'),
    });
  });

  it('another account that names the same role gets no access, because external ids differ by account', async () => {
    const kept = await accept('account-2');
    const session = world.provider.session(kept, 'account-2', world.ports, never);
    await expect(session.zones()).rejects.toMatchObject({ kind: 'auth_failed' });
    const [one] = world.provider.credentialKinds('account-1');
    const [other] = world.provider.credentialKinds('account-2');
    expect(one?.external_id).not.toBe(other?.external_id);
    expect(one?.principal).toBe(aws.principalArn);
  });

  it('an RRset with a routing policy stays unchanged', async () => {
    world.fake.routed.push({ name: `${fqdn}.`, type: 'TXT', ttl: 60, values: ['"x"'], set: 'north' });
    const session = await openSession(world);
    const [zone] = await session.zones();
    const added = session.add(zone!, { fqdn, type: 'TXT', value: 'text', ttlS: null });
    await expect(added).rejects.toMatchObject({ kind: 'conflict' });
  });

  it.each([
    ['role_arn', 'arn:aws:iam::111122223333:user/somebody'],
    ['role_arn', 'arn:aws:sts::111122223333:assumed-role/x/y'],
    ['role_arn', ''],
  ])('%s %s is refused by name', async (member, value) => {
    const credentials = { type: 'cloud_account', [member]: value } as const;
    await expect(world.provider.accept(credentials, 'account-1', world.ports, never)).rejects.toMatchObject({
      code: 'bad_request',
      faults: [{ field: 'credentials.role_arn', code: 'invalid_value' }],
    });
  });
});
