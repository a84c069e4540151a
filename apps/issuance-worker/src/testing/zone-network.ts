import { DnsServer, MemoryZone, MemoryZones, type ZoneRecord } from '@certwright/dns-authority';
import { AddressGuard } from '@certwright/outbound';
import { DnsClient } from '@certwright/dns-lookup';
import { NameServers } from '../name-servers/name-servers';

const resolverAddress = '127.0.0.1';
/** One authoritative server on each. */
export const serverAddresses = ['127.0.0.2', '127.0.0.3'] as const;
export type ServerAddress = (typeof serverAddresses)[number];

const soa = (apex: string): ZoneRecord => ({
  name: apex,
  type: 'SOA',
  ttl: 1,
  data: {
    mname: 'ns2.dns.test',
    rname: 'hostmaster.dns.test',
    serial: 1,
    refresh: 1,
    retry: 1,
    expire: 1,
    minimum: 1,
  },
});

/** `127.0.0.2` is `ns2.dns.test`. */
const hostOf = (address: string) => `ns${address.slice(-1)}.dns.test`;

/**
 * Zones on two authoritative servers, each with its own address and on the same port, and a resolver that knows their
 * addresses and responds like the first of them. Published records reach the servers that a test chooses.
 */
export class ZoneNetwork {
  private constructor(
    private readonly servers: ReadonlyMap<ServerAddress, MemoryZones>,
    private readonly client: DnsClient,
    readonly nameServers: NameServers,
    /** Port of the authoritative servers. */
    readonly port: number,
    readonly close: () => Promise<void>,
  ) {}

  static async open(zoneNames: readonly string[]): Promise<ZoneNetwork> {
    const zonesOn = () =>
      new MemoryZones(
        zoneNames.map((apex) => {
          const ns = serverAddresses.map((address): ZoneRecord => {
            return { name: apex, type: 'NS', ttl: 1, data: hostOf(address) };
          });
          return new MemoryZone(apex, [soa(apex), ...ns]);
        }),
      );
    const servers = new Map(serverAddresses.map((address) => [address, zonesOn()]));
    const hosts = new MemoryZone('dns.test', [
      soa('dns.test'),
      ...serverAddresses.map((data): ZoneRecord => ({ name: hostOf(data), type: 'A', ttl: 1, data })),
    ]);
    const known = new MemoryZones([hosts]);
    const source: MemoryZones | undefined = servers.get(serverAddresses[0]);
    const listening = await listen(servers, {
      read: (name) => known.read(name) ?? source?.read(name),
    });
    const resolver = { host: resolverAddress, port: listening.resolverPort };
    const client = new DnsClient({ server: resolver, timeoutMs: 10_000 });
    const guard = new AddressGuard({ allowedNetworks: ['127.0.0.0/8'], resolvers: [resolver] });
    const { port } = listening;
    const nameServers = new NameServers({ lookUp: client.lookUp, guard, port, responseMs: 10_000 });
    return new ZoneNetwork(servers, client, nameServers, port, async () => {
      client.close();
      await Promise.all(listening.all.map(async (server) => await server.close()));
    });
  }

  /** The resolver. */
  get lookUp(): DnsClient['lookUp'] {
    return this.client.lookUp;
  }

  /** @param values empty: removes the records */
  publishTexts(
    fqdn: string,
    values: readonly string[],
    addresses: readonly ServerAddress[] = serverAddresses,
  ): void {
    const records = values.map((value): ZoneRecord => {
      return { name: fqdn, type: 'TXT', ttl: 1, data: [Buffer.from(value)] };
    });
    for (const address of addresses)
      this.servers
        .get(address)
        ?.read(fqdn)
        ?.commit(new Map([[fqdn, records]]));
  }

  /** @param target null: removes the record */
  publish(
    fqdn: string,
    target: string | null,
    addresses: readonly ServerAddress[] = serverAddresses,
    type: 'CNAME' | 'NS' = 'CNAME',
  ): void {
    for (const address of addresses) {
      const records: ZoneRecord[] = target === null ? [] : [{ name: fqdn, type, ttl: 1, data: target }];
      this.servers
        .get(address)
        ?.read(fqdn)
        ?.commit(new Map([[fqdn, records]]));
    }
  }
}

type Source = ConstructorParameters<typeof DnsServer>[0]['source'];

/** The same port on every address, as in production. */
async function listen(servers: ReadonlyMap<ServerAddress, Source>, resolver: Source) {
  const all: DnsServer[] = [];
  const open = async (host: string, port: number, source: Source) => {
    const server = new DnsServer({ host, port, source });
    const listening = await server.listen();
    all.push(server);
    return listening.port;
  };
  const resolverPort = await open(resolverAddress, 0, resolver);
  let port = 0;
  for (const [address, source] of servers) port = await open(address, port, source);
  return { all, port, resolverPort };
}
