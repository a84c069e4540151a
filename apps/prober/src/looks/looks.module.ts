import { AddressOccupancy, connectRedis } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { ResolversModule } from '../resolvers/resolvers.module';
import { ConnectionPlaces, occupancyOptions } from './connection-places';
import { LookAtHosts } from './look-at-hosts';
import { LooksController } from './looks.controller';

/** What the servers of some hosts present to visitors. */
@Module({
  imports: [ResolversModule],
  controllers: [LooksController],
  providers: [
    LookAtHosts,
    {
      provide: ConnectionPlaces,
      inject: [RedisAccess, RunningProcess],
      useFactory: (redis: RedisAccess, { name, log, opened }: RunningProcess) => {
        const occupying = connectRedis(redis, { name: `${name}-occupying`, log });
        opened('occupancy of addresses', occupying.close);
        return new ConnectionPlaces(new AddressOccupancy(occupying, occupancyOptions));
      },
    },
  ],
})
export class LooksModule {}
