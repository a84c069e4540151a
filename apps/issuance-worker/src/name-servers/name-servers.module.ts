import { AddressGuard, ServerAddresses } from '@certwright/outbound';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { DnsServers } from '@certwright/dns-lookup';
import { NameServers } from './name-servers';

/** DNS clients: the resolver, and the servers of a zone themselves. */
@Module({
  providers: [
    {
      provide: DnsServers,
      inject: [Config, RunningProcess],
      useFactory: ({ DNS_RESOLVER }: Config, { opened }: RunningProcess) => {
        const dns = new DnsServers(new ServerAddresses([DNS_RESOLVER]));
        opened('resolver', () => dns.close());
        return dns;
      },
    },
    {
      provide: NameServers,
      inject: [Config, DnsServers],
      useFactory: (config: Config, { lookUp }: DnsServers) =>
        new NameServers({
          lookUp,
          guard: new AddressGuard({
            allowedNetworks: config.ALLOWED_NETWORKS,
            resolvers: [config.DNS_RESOLVER],
          }),
          port: config.AUTHORITY_DNS_PORT,
        }),
    },
  ],
  exports: [DnsServers, NameServers],
})
export class NameServersModule {}
