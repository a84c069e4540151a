import { getServers, lookup } from 'node:dns/promises';
import { DnsClient } from '@certwright/dns-lookup';
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
      useFactory: async ({ DNS_RESOLVERS }: Config, { opened }: RunningProcess) => {
        const servers = DNS_RESOLVERS.length > 0 ? DNS_RESOLVERS : getServers().map(systemResolver);
        const clients = await Promise.all(
          servers.map(async ({ host, port }) => {
            const { address } = await lookup(host);
            return new DnsClient({ server: { host: address, port } });
          }),
        );
        opened('resolvers', () => {
          for (const client of clients) client.close();
        });
        return new Resolvers(clients.map(({ lookUp }) => lookUp));
      },
    },
  ],
  exports: [Resolvers],
})
export class ResolversModule {}
