import { lookup } from 'node:dns/promises';
import { AddressGuard } from '@certwright/outbound';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { DnsClient } from '@certwright/dns-lookup';
import { NameServers } from './name-servers';

/** DNS clients: the resolver, and the servers of a zone themselves. */
@Module({
  providers: [
    {
      provide: DnsClient,
      inject: [Config, RunningProcess],
      useFactory: async ({ DNS_RESOLVER }: Config, { opened }: RunningProcess) => {
        const dns = new DnsClient({ server: await addressOf(DNS_RESOLVER) });
        opened('resolver', () => dns.close());
        return dns;
      },
    },
    {
      provide: NameServers,
      inject: [Config, DnsClient],
      useFactory: async (config: Config, { lookUp }: DnsClient) =>
        new NameServers({
          lookUp,
          guard: new AddressGuard({
            allowedNetworks: config.ALLOWED_NETWORKS,
            resolvers: [await addressOf(config.DNS_RESOLVER)],
          }),
          port: config.AUTHORITY_DNS_PORT,
        }),
    },
  ],
  exports: [DnsClient, NameServers],
})
export class NameServersModule {}

/** A server that is set by name (a service of the cluster) is looked up once, by the system resolver. */
export async function addressOf({ host, port }: Config['DNS_RESOLVER']): Promise<Config['DNS_RESOLVER']> {
  const { address } = await lookup(host);
  return { host: address, port };
}
