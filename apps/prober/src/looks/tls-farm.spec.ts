import { DnsClient } from '@certwright/dns-lookup';
import { checkHost, type Look, ReadLook } from '@certwright/endpoint-checks';
import { AddressGuard } from '@certwright/outbound';
import { AddressOccupancy, connectRedis } from '@certwright/redis';
import { createLogger, Metrics, type RunningProcess } from '@certwright/service';
import { eventually, testRedis } from '@certwright/testing';
import { type FarmHost, openTlsFarm, type TlsFarm } from '@certwright/tls-farm';
import { ConnectionPlaces, occupancyOptions } from './connection-places';
import { LookAtHosts } from './look-at-hosts';

const log = createLogger('spec', 'silent');
const undo: (() => unknown)[] = [];
/** Time limits that only servers reach that never respond. */
const generous = { withinMs: 120_000, connectionWithinMs: 60_000 };
const short = { withinMs: 120_000, connectionWithinMs: 1_000 };
let farm: TlsFarm;
let lookAtHosts: LookAtHosts;

jest.setTimeout(120_000);
beforeAll(async () => {
  const redis = await testRedis();
  undo.push(() => redis.dispose());
  const connection = connectRedis(redis.access, { name: 'spec', log, commandTimeoutMs: 20_000 });
  undo.push(() => connection.close());
  await eventually(() => connection.ping());
  farm = await openTlsFarm();
  undo.push(() => farm.close());
  const client = new DnsClient({ server: farm.resolver, timeoutMs: 60_000 });
  undo.push(() => client.close());
  lookAtHosts = new LookAtHosts(
    new AddressGuard({ allowedNetworks: farm.allowedNetworks }),
    { each: async () => await Promise.resolve([client.lookUp]) },
    new ConnectionPlaces(new AddressOccupancy(connection, occupancyOptions)),
    { log, metrics: new Metrics('prober') } as RunningProcess,
  );
}, 60_000);
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

const isSilent = ({ host }: FarmHost): boolean => host.startsWith('silent');

async function lookAt({ host }: FarmHost): Promise<Look> {
  const hosts = [{ host, ports: [farm.port] }];
  const look = await lookAtHosts.respond({ hosts, serverName: null, withHttpStatus: true });
  if (look === undefined) throw new Error('the question was not understood');
  return look;
}

/** One line per host, to be compared. */
async function checked(host: FarmHost): Promise<string> {
  const look = await lookAt(host);
  const [hostLook] = look.hosts;
  if (hostLook === undefined) throw new Error('the look has no host');
  const { outcome, findings } = checkHost(new ReadLook(look), hostLook, {
    now: new Date(),
    trust: farm.trust,
    leaves: new Map(),
    current: [],
    notCurrentAfterMs: 86_400_000,
  });
  const codes = findings.map(({ code }) => code).sort();
  return `${host.host}: ${outcome} ${codes.join(' ')}`;
}

const expected = ({ host, outcome, findings }: FarmHost, turn: number): string =>
  `${host}: ${outcome} ${findings[turn]?.join(' ')}`;

describe('looks at a farm of TLS servers', () => {
  it('find what is wrong with each of them, whatever the others do', async () => {
    const hosts = farm.hosts.filter((each) => !isSilent(each));
    expect(hosts.length).toBeGreaterThan(70);
    lookAtHosts.times = generous;
    const found = await Promise.all(hosts.map(checked));
    expect(found).toEqual(hosts.map((host) => expected(host, 0)));
    const again = hosts.filter(({ findings }) => findings.length > 1);
    expect(await Promise.all(again.map(checked))).toEqual(again.map((host) => expected(host, 1)));
  });

  it('find that nothing is presented by servers that never respond', async () => {
    lookAtHosts.times = short;
    const hosts = farm.hosts.filter(isSilent);
    expect(await Promise.all(hosts.map(checked))).toEqual(hosts.map((host) => expected(host, 0)));
  });

  it('leave no connection open', async () => {
    await eventually(() => expect(farm.server.open.now).toBe(0), { withinMs: 60_000 });
  });

  it('show versions, ciphers, the status of HTTP, and the omitted addresses', async () => {
    lookAtHosts.times = generous;
    const [good, old, many] = await Promise.all(
      ['good', 'tls10-rsa1024', 'twenty-addresses'].map((label) =>
        lookAt({ host: `${label}.example.com`, findings: [[]], outcome: 'served' }),
      ),
    );
    expect(good?.hosts[0]?.addresses).toMatchObject([
      { result: { version: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384', httpStatus: 200, chain: [0, 1] } },
    ]);
    expect(old?.hosts[0]?.addresses).toMatchObject([
      { result: { version: 'TLSv1', cipher: 'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', httpStatus: null } },
    ]);
    expect(many?.hosts[0]).toMatchObject({ omitted: 4, firstOmitted: expect.any(String) as string });
    expect(many?.certificates).toHaveLength(2);
  });
});
