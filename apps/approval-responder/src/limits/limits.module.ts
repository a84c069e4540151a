import { connectRedis, RedisTokenBuckets } from '@certwright/redis';
import { FallbackTokenBuckets, MemoryTokenBuckets, RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ResponderConfig } from '../config';
import { AddressLimit } from './address-limit';

/** Limits of requests, over all copies of the process. */
@Module({
  providers: [
    { provide: APP_GUARD, useClass: AddressLimit },
    {
      provide: FallbackTokenBuckets,
      inject: [ResponderConfig, RunningProcess],
      useFactory: ({ REDIS_URL }: ResponderConfig, { name, log, opened }: RunningProcess) => {
        const redis = connectRedis(REDIS_URL, { name: `${name}-limits`, log });
        opened('redis', async () => await redis.close());
        return new FallbackTokenBuckets(new RedisTokenBuckets(redis.client), new MemoryTokenBuckets());
      },
    },
  ],
})
export class LimitsModule {}
