import { lookup } from 'node:dns/promises';
import { AddressGuard, type ResolverAddress } from '@certwright/outbound';
import { Module } from '@nestjs/common';
import { Config } from '../config';

/** Allowed addresses, and the resolver for names. */
@Module({
  providers: [
    {
      provide: AddressGuard,
      inject: [Config],
      useFactory: async ({ ALLOWED_NETWORKS: allowedNetworks, DNS_RESOLVERS }: Config) =>
        new AddressGuard({ allowedNetworks, resolvers: await Promise.all(DNS_RESOLVERS.map(addressOf)) }),
    },
  ],
  exports: [AddressGuard],
})
export class AddressGuardModule {}

/** A resolver given by name (a service of the cluster) is looked up once, by the operating system. */
async function addressOf({ host, port }: ResolverAddress): Promise<ResolverAddress> {
  const { address } = await lookup(host);
  return { host: address, port };
}
