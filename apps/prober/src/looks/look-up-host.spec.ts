import { DnsServer, MemoryZone, MemoryZones, type ZoneRecord } from '@certwright/dns-authority';
import { DnsClient, type LookUp } from '@certwright/dns-lookup';
import { lookUpHost } from './look-up-host';

const undo: (() => unknown)[] = [];
let lookUp: LookUp;

const soa = { mname: 'ns.com', rname: 'ns.com', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 };
const zone = (apex: string, records: readonly ZoneRecord[]) =>
  new MemoryZone(apex, [{ name: apex, type: 'SOA', ttl: 5, data: soa }, ...records]);
const a = (name: string, data: string): ZoneRecord => ({ name, type: 'A', ttl: 5, data });
const aaaa = (name: string, data: string): ZoneRecord => ({ name, type: 'AAAA', ttl: 5, data });
const cname = (name: string, data: string): ZoneRecord => ({ name, type: 'CNAME', ttl: 5, data });
const chain = (length: number) =>
  Array.from({ length }, (_, at) => cname(`chain${at}.example.com`, `chain${at + 1}.example.com`));

beforeAll(async () => {
  // Used as a resolver: it refuses names outside its zones, and follows no CNAME record into another zone.
  const zones = [
    zone('example.com', [
      a('both.example.com', '192.0.2.2'),
      a('both.example.com', '192.0.2.1'),
      aaaa('both.example.com', '2001:db8::1'),
      cname('alias.example.com', 'both.example.com'),
      { name: 'text.example.com', type: 'TXT', ttl: 5, data: [Buffer.from('text')] },
      cname('textalias.example.com', 'text.example.com'),
      cname('dangling.example.com', 'gone.example.com'),
      cname('far.example.com', 'dangling.example.com'),
      cname('elsewhere.example.com', 'www.example.net'),
      cname('nowhere.example.com', 'gone.example.net'),
      cname('refused.example.com', 'www.example.org'),
      cname('circle.example.com', 'round.example.com'),
      cname('round.example.com', 'circle.example.com'),
      ...chain(40),
      a('chain40.example.com', '192.0.2.40'),
    ]),
    zone('example.net', [a('www.example.net', '192.0.2.3')]),
  ];
  const server = new DnsServer({ host: '127.0.0.1', port: 0, source: new MemoryZones(zones) });
  undo.push(() => server.close());
  const client = new DnsClient({ server: await server.listen(), timeoutMs: 60_000 });
  undo.push(() => client.close());
  lookUp = client.lookUp;
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

it.each<[string, object, readonly string[]]>([
  ['both.example.com', { kind: 'found' }, ['2001:db8::1', '192.0.2.2', '192.0.2.1']],
  ['alias.example.com', { kind: 'found' }, ['2001:db8::1', '192.0.2.2', '192.0.2.1']],
  ['elsewhere.example.com', { kind: 'found' }, ['192.0.2.3']],
  ['192.0.2.1', { kind: 'found' }, ['192.0.2.1']],
  ['2001:DB8::1', { kind: 'found' }, ['2001:db8::1']],
  ['gone.example.com', { kind: 'no_name' }, []],
  ['text.example.com', { kind: 'no_address' }, []],
  ['textalias.example.com', { kind: 'no_address' }, []],
  ['dangling.example.com', { kind: 'dangling', target: 'gone.example.com' }, []],
  ['far.example.com', { kind: 'dangling', target: 'gone.example.com' }, []],
  ['nowhere.example.com', { kind: 'dangling', target: 'gone.example.net' }, []],
  ['refused.example.com', { kind: 'failed', failure: 'refused' }, []],
  ['circle.example.com', { kind: 'failed', failure: 'servfail' }, []],
  ['chain0.example.com', { kind: 'failed', failure: 'servfail' }, []],
  ['www.example.org', { kind: 'failed', failure: 'refused' }, []],
])('looks up %s: %j', async (host, expected, addresses) => {
  const found = await lookUpHost(host, lookUp);
  expect(found.host).toBe(host);
  expect(found.lookUp).toEqual(expected);
  expect([...found.addresses].sort()).toEqual([...addresses].sort());
  expect(found.addresses[0]).toBe(addresses[0]);
});

it('finds the addresses of one family while the other fails', async () => {
  const halfFailing: LookUp = async (name, type) =>
    type === 'AAAA' ? { from: 'x', kind: 'failure', reason: 'servfail' } : await lookUp(name, type);
  expect(await lookUpHost('both.example.com', halfFailing)).toMatchObject({ lookUp: { kind: 'found' } });
  expect(await lookUpHost('text.example.com', halfFailing)).toMatchObject({
    lookUp: { kind: 'failed', failure: 'servfail' },
  });
});

it('sends a bounded number of queries, wherever a name server leads', async () => {
  let queries = 0;
  const endless: LookUp = async (name, type) => {
    queries += 1;
    const next = `n${queries}.example.com`;
    const answers: ZoneRecord[] = [cname(name, next)];
    return await Promise.resolve(
      type === 'AAAA'
        ? { from: 'x', kind: 'nxdomain' }
        : { from: 'x', kind: 'records', answers, authority: [] },
    );
  };
  expect(await lookUpHost('www.example.com', endless)).toMatchObject({ lookUp: { kind: 'failed' } });
  expect(queries).toBeLessThan(30);
});
