import { DnsServer, MemoryZone, MemoryZones } from '@certwright/dns-authority';
import { ServerAddresses } from '@certwright/outbound';
import { DnsServers } from './dns-servers';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** More than the slowest machine needs, ms. */
const timeoutMs = 20_000;

/** A server at an address of its own that has one TXT record. */
async function authority(host: string, value: string, port = 0) {
  const soa = { mname: 'ns.test', rname: 'ns.test', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 };
  const zone = new MemoryZone('test', [
    { name: 'test', type: 'SOA', ttl: 5, data: soa },
    { name: 'a.test', type: 'TXT', ttl: 5, data: [Buffer.from(value)] },
  ]);
  const server = new DnsServer({ host, port, source: new MemoryZones([zone]) });
  undo.push(() => server.close());
  return (await server.listen()).port;
}

/** Names of services, as the cluster resolves them. */
class Names {
  addresses: Readonly<Record<string, readonly string[]>> = {};
  lookedUp = 0;
  nowMs = 0;

  servers(...servers: readonly { readonly host: string; readonly port: number }[]): DnsServers {
    const addresses = new ServerAddresses(servers, {
      resolve: async (name) => {
        this.lookedUp += 1;
        const found = this.addresses[name];
        if (found === undefined) throw new Error('ENOTFOUND');
        return await Promise.resolve(found);
      },
      nowMs: () => this.nowMs,
    });
    const made = new DnsServers(addresses, { timeoutMs });
    undo.push(() => made.close());
    return made;
  }
}

async function valuesOf(servers: DnsServers): Promise<readonly string[]> {
  const results = await Promise.all(
    (await servers.each()).map(async (lookUp) => await lookUp('a.test', 'TXT')),
  );
  return results.map((result) => {
    if (result.kind !== 'records')
      return `${result.from} ${result.kind === 'failure' ? result.reason : result.kind}`;
    const [record] = result.answers;
    return record?.type === 'TXT' ? Buffer.concat(record.data).toString() : '';
  });
}

it('queries every address of a name, and other addresses once copies of the service were replaced', async () => {
  const port = await authority('127.0.0.41', 'one');
  for (const [host, value] of [
    ['127.0.0.42', 'two'],
    ['127.0.0.43', 'three'],
  ] as const)
    await authority(host, value, port);
  const names = new Names();
  const servers = names.servers({ host: 'responder', port });
  names.addresses = { responder: ['127.0.0.41', '127.0.0.42'] };
  expect(await valuesOf(servers)).toEqual(['one', 'two']);
  names.addresses = { responder: ['127.0.0.43', '127.0.0.42'] };
  names.nowMs += 4_999;
  expect(await valuesOf(servers)).toEqual(['one', 'two']);
  names.nowMs += 1;
  const all = await Promise.all([valuesOf(servers), valuesOf(servers)]);
  expect(all).toEqual([
    ['three', 'two'],
    ['three', 'two'],
  ]);
  expect(names.lookedUp).toBe(2);
});

it('keeps the last addresses of a name that cannot be looked up, and fails for one that never had any', async () => {
  const port = await authority('127.0.0.41', 'one');
  const names = new Names();
  const servers = names.servers({ host: 'responder', port }, { host: 'unknown', port: 53 });
  names.addresses = { responder: ['127.0.0.41'] };
  expect(await valuesOf(servers)).toEqual(['one', 'unknown:53 unreachable']);
  names.addresses = {};
  names.nowMs += 60_000;
  expect(await valuesOf(servers)).toEqual(['one', 'unknown:53 unreachable']);
  names.addresses = { responder: ['127.0.0.41'], unknown: ['127.0.0.41'] };
  names.nowMs += 60_000;
  expect((await valuesOf(servers))[0]).toBe('one');
});

it('looks up at the next address when one fails', async () => {
  const port = await authority('127.0.0.42', 'two');
  const names = new Names();
  const servers = names.servers({ host: 'resolver', port });
  // No server listens at the first.
  names.addresses = { resolver: ['127.0.0.44', '127.0.0.42'] };
  expect(await servers.lookUp('a.test', 'TXT', { timeoutMs })).toMatchObject({ kind: 'records' });
  names.addresses = {};
  expect(await names.servers({ host: 'resolver', port }).lookUp('a.test', 'TXT')).toMatchObject({
    kind: 'failure',
    reason: 'unreachable',
  });
});

it('reads IP addresses as they are', async () => {
  const port = await authority('127.0.0.41', 'one');
  const servers = new DnsServers(new ServerAddresses([{ host: '127.0.0.41', port }]), { timeoutMs });
  undo.push(() => servers.close());
  expect(await valuesOf(servers)).toEqual(['one']);
});
