import { AddressGuard } from '@certwright/outbound';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { CtLogs } from './ct-logs';

/** What a log is told of who asks. */
export const UserAgent = Symbol('UserAgent');

/** The logs that are known, and how servers of the outside are requested. */
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
