import { getServers } from 'node:dns/promises';
import { DnsServers, ServerAddresses } from '@certwright/dns-lookup';
import { AddressGuard } from '@certwright/outbound';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { systemResolver } from './system-resolver';

/** The resolvers: queried by our own client, whose responses are read strictly, and for names of URLs by the guard of addresses. */
@Module({
  providers: [
    {
      provide: ServerAddresses,
      inject: [Config],
      useFactory: ({ DNS_RESOLVERS }: Config) =>
        new ServerAddresses(DNS_RESOLVERS.length > 0 ? DNS_RESOLVERS : getServers().map(systemResolver)),
    },
    {
      provide: DnsServers,
      inject: [ServerAddresses, RunningProcess],
      useFactory: (addresses: ServerAddresses, { opened }: RunningProcess) => {
        const resolvers = new DnsServers(addresses);
        opened('resolvers', () => resolvers.close());
        return resolvers;
      },
    },
    {
      provide: AddressGuard,
      inject: [Config, ServerAddresses],
      useFactory: ({ ALLOWED_NETWORKS: allowedNetworks }: Config, addresses: ServerAddresses) =>
        new AddressGuard({
          allowedNetworks,
          resolvers: async () => (await addresses.current()).addresses,
        }),
    },
  ],
  exports: [DnsServers, AddressGuard],
})
export class ResolversModule {}
