import { AddressOccupancy, connectRedis } from '@certwright/redis';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { AddressGuardModule } from '../address-guard/address-guard.module';
import { Config } from '../config';
import { ResolversModule } from '../resolvers/resolvers.module';
import { ConnectionPlaces, occupancyOptions } from './connection-places';
import { LookAtHosts } from './look-at-hosts';
import { LooksController } from './looks.controller';

/** What the servers of some hosts present to visitors. */
@Module({
  imports: [AddressGuardModule, ResolversModule],
  controllers: [LooksController],
  providers: [
    LookAtHosts,
    {
      provide: ConnectionPlaces,
      inject: [Config, RunningProcess],
      useFactory: ({ REDIS_URL }: Config, { name, log, opened }: RunningProcess) => {
        const { client, close } = connectRedis(REDIS_URL, { name: `${name}-occupying`, log });
        opened('occupancy of addresses', close);
        return new ConnectionPlaces(new AddressOccupancy(client, occupancyOptions));
      },
    },
  ],
})
export class LooksModule {}
