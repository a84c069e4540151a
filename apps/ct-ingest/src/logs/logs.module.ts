import { AddressGuard } from '@certwright/outbound';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { CtLogs } from './ct-logs';

/** The User-Agent of requests to logs. */
export const UserAgent = Symbol('UserAgent');

/** The known logs, and the HTTP client for external servers. */
@Module({
  providers: [
    CtLogs,
    {
      provide: AddressGuard,
      inject: [Config],
      useFactory: ({ ALLOWED_NETWORKS: allowedNetworks, DNS_RESOLVERS: resolvers }: Config) =>
        new AddressGuard({ allowedNetworks, resolvers }),
    },
    {
      provide: UserAgent,
      inject: [Config],
      useFactory: ({ CONTACT }: Config) =>
        `certwright-ct-ingest/1${CONTACT === null ? '' : ` (+${CONTACT})`}`,
    },
  ],
  exports: [AddressGuard, CtLogs, UserAgent],
})
export class LogsModule {}
