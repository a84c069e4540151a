import type { RecordFinding } from '@certwright/issuance';
import { neutralMessage } from '@certwright/outcome-messages';
import { createSocket, type Socket } from 'node:dgram';
import { AddressGuard } from '@certwright/outbound';
import { ZoneNetwork } from '../testing/zone-network';
import { NameServers } from './name-servers';

const target = 'label.approval.test';
const recordName = '_acme-challenge.www.example.com';
const wanted = { recordName, target, zoneName: 'example.com' };

let network: ZoneNetwork;
beforeAll(async () => {
  network = await ZoneNetwork.open(['example.com', 'example.net']);
});
afterAll(async () => await network.close());
beforeEach(() => {
  network.publish(recordName, null);
  network.publish('_acme-challenge.example.net', null);
});

const messageOf = ({ problem }: RecordFinding) => (problem === null ? '' : neutralMessage(problem));
const find = async () => await network.nameServers.find(wanted);

describe('a record', () => {
  it('is everywhere when every authoritative server returns it', async () => {
    network.publish(recordName, target);
    expect(await find()).toEqual({ seen: 'everywhere', absent: false, other: false, problem: null });
  });

  it('is somewhere while one server lags, and that server is named', async () => {
    network.publish(recordName, target, ['127.0.0.2']);
    const finding = await find();
    expect(finding).toMatchObject({ seen: 'somewhere', absent: true, other: false });
    expect(messageOf(finding)).toMatch(
      /^ns3\.dns\.test \(127\.0\.0\.3:\d+\) does not respond with the record yet \(NXDOMAIN\)\.$/,
    );
  });

  it('is nowhere when no server has it', async () => {
    expect(await find()).toMatchObject({ seen: 'nowhere', absent: true, other: false });
  });

  it('is not confused with another’s', async () => {
    network.publish(recordName, 'elsewhere.test');
    const finding = await find();
    expect(finding).toMatchObject({ seen: 'nowhere', absent: false });
    expect(finding.other).toBe(true);
    expect(messageOf(finding)).toMatch(
      /^ns2\.dns\.test .* responds with a CNAME to elsewhere\.test instead; /,
    );
  });

  it('also exists when the name is delegated to the target', async () => {
    network.publish(recordName, target, undefined, 'NS');
    expect(await find()).toMatchObject({ seen: 'everywhere' });
    network.publish(recordName, 'elsewhere.test', undefined, 'NS');
    expect(messageOf(await find())).toContain('a delegation (NS) to elsewhere.test');
  });

  it('exists when the customer’s own alias leads to the target, at every server', async () => {
    network.publish(recordName, '_acme-challenge.example.net');
    expect(await find()).toMatchObject({ seen: 'nowhere' });
    network.publish('_acme-challenge.example.net', target);
    expect(await find()).toMatchObject({ seen: 'everywhere' });
    network.publish(recordName, null, ['127.0.0.3']);
    expect(await find()).toMatchObject({ seen: 'nowhere', absent: true });
  });
});

describe('a server', () => {
  it('that is lame is named', async () => {
    const lame = await network.nameServers.find({ ...wanted, recordName: '_acme-challenge.www.example.org' });
    expect(lame).toMatchObject({ seen: 'nowhere', absent: false, other: false });
    expect(messageOf(lame)).toMatch(
      /^ns2\.dns\.test .* does not respond for the zone \(REFUSED\); ns3\.dns\.test /,
    );
  });

  it('is unknown for a zone without servers', async () => {
    const finding = await network.nameServers.find({ ...wanted, zoneName: 'dns.test' });
    expect(finding).toMatchObject({ seen: 'nowhere', absent: false });
    expect(messageOf(finding)).toMatch(
      /^the name servers of dns\.test are not known \(it has no NS record at /,
    );
  });

  it('at an address that is not public is not queried, unless the operator allows its network', async () => {
    network.publish(recordName, target);
    const guard = new AddressGuard({ allowedNetworks: [] });
    const resolving = {
      addressesOf: async () => await guard.addressesOf('127.0.0.2', new AbortController().signal),
    };
    const nameServers = new NameServers({ lookUp: network.lookUp, guard: resolving, port: 53 });
    const finding = await nameServers.find(wanted);
    expect(finding.seen).toBe('nowhere');
    expect(messageOf(finding)).toContain('is not public');
  });
});

describe('an address that does not respond', () => {
  let silent: Socket;
  let port: number;
  beforeAll(async () => {
    silent = createSocket('udp4');
    await new Promise<void>((resolve) => silent.bind(0, '127.0.0.9', resolve));
    ({ port } = silent.address());
  });
  afterAll(() => silent.close());

  const at = async (
    addresses: (server: string) => readonly string[],
    { onPort, responseMs }: { readonly onPort: number; readonly responseMs: number },
  ) => {
    const guard = { addressesOf: async (server: string) => await Promise.resolve(addresses(server)) };
    const nameServers = new NameServers({ lookUp: network.lookUp, guard, port: onPort, responseMs });
    return await nameServers.find(wanted);
  };

  it('is ignored beside a responding address of the same server', async () => {
    network.publish(recordName, target);
    // Nothing listens at that address.
    const finding = await at((server) => ['127.0.0.9', `127.0.0.${server.slice(2, 3)}`], {
      onPort: network.port,
      responseMs: 20_000,
    });
    expect(finding).toMatchObject({ seen: 'everywhere' });
  });

  it('is waited for when the server has no other, and the server is named', async () => {
    const finding = await at(() => ['127.0.0.9'], { onPort: port, responseMs: 200 });
    expect(finding).toMatchObject({ seen: 'nowhere', absent: false, other: false });
    expect(messageOf(finding)).toMatch(
      /^ns2\.dns\.test .* does not respond for the zone \(no response in time\); ns3/,
    );
  });
});
