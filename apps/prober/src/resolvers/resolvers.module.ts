import { getServers } from 'node:dns/promises';
import { DnsServers, ServerAddresses } from '@certwright/dns-lookup';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { Resolvers } from './resolvers';
import { systemResolver } from './system-resolver';

/** Resolvers whose responses are read strictly, and not by the operating system. */
@Module({
  providers: [
    {
      provide: Resolvers,
      inject: [Config, RunningProcess],
      useFactory: ({ DNS_RESOLVERS }: Config, { opened }: RunningProcess) => {
        const configured = DNS_RESOLVERS.length > 0 ? DNS_RESOLVERS : getServers().map(systemResolver);
        const servers = new DnsServers(new ServerAddresses(configured));
        opened('resolvers', () => servers.close());
        return new Resolvers([servers.lookUp]);
      },
    },
  ],
  exports: [Resolvers],
})
export class ResolversModule {}
