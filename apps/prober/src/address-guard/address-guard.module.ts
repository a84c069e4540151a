import { ServerAddresses } from '@certwright/dns-lookup';
import { AddressGuard } from '@certwright/outbound';
import { Module } from '@nestjs/common';
import { Config } from '../config';

/** Allowed addresses, and the resolver for names. */
@Module({
  providers: [
    {
      provide: AddressGuard,
      inject: [Config],
      useFactory: ({ ALLOWED_NETWORKS: allowedNetworks, DNS_RESOLVERS }: Config) => {
        if (DNS_RESOLVERS.length === 0) return new AddressGuard({ allowedNetworks });
        const servers = new ServerAddresses(DNS_RESOLVERS);
        const resolvers = async () => (await servers.current()).addresses;
        return new AddressGuard({ allowedNetworks, resolvers });
      },
    },
  ],
  exports: [AddressGuard],
})
export class AddressGuardModule {}
