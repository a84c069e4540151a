import { AddressGuard } from '@certwright/outbound';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { DnsServers, ServerAddresses } from '@certwright/dns-lookup';
import { NameServers } from './name-servers';

/** DNS clients: the resolver, and the servers of a zone themselves. */
@Module({
  providers: [
    {
      provide: ServerAddresses,
      inject: [Config],
      useFactory: ({ DNS_RESOLVER }: Config) => new ServerAddresses([DNS_RESOLVER]),
    },
    {
      provide: DnsServers,
      inject: [ServerAddresses, RunningProcess],
      useFactory: (resolver: ServerAddresses, { opened }: RunningProcess) => {
        const dns = new DnsServers(resolver);
        opened('resolver', () => dns.close());
        return dns;
      },
    },
    {
      provide: NameServers,
      inject: [Config, DnsServers, ServerAddresses],
      useFactory: (config: Config, { lookUp }: DnsServers, resolver: ServerAddresses) =>
        new NameServers({
          lookUp,
          guard: new AddressGuard({
            allowedNetworks: config.ALLOWED_NETWORKS,
            resolvers: async () => (await resolver.current()).addresses,
          }),
          port: config.AUTHORITY_DNS_PORT,
        }),
    },
  ],
  exports: [DnsServers, NameServers],
})
export class NameServersModule {}
