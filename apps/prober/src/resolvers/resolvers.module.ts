import { getServers } from 'node:dns/promises';
import { DnsServers } from '@certwright/dns-lookup';
import { AddressGuard, ServerAddresses } from '@certwright/outbound';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { systemResolver } from './system-resolver';

const resolversOf = ({ DNS_RESOLVERS }: Config) =>
  DNS_RESOLVERS.length > 0 ? DNS_RESOLVERS : getServers().map(systemResolver);

/** The resolvers: queried by our own client, whose responses are read strictly, and for names of URLs by the guard of addresses. */
@Module({
  providers: [
    {
      provide: DnsServers,
      inject: [Config, RunningProcess],
      useFactory: (config: Config, { opened }: RunningProcess) => {
        const resolvers = new DnsServers(new ServerAddresses(resolversOf(config)));
        opened('resolvers', () => resolvers.close());
        return resolvers;
      },
    },
    {
      provide: AddressGuard,
      inject: [Config],
      useFactory: (config: Config) =>
        new AddressGuard({ allowedNetworks: config.ALLOWED_NETWORKS, resolvers: resolversOf(config) }),
    },
  ],
  exports: [DnsServers, AddressGuard],
})
export class ResolversModule {}
