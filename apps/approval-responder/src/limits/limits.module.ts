import { Problem } from '@certwright/errors';
import { connectRedis, RedisTokenBuckets } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { addressKey, FallbackTokenBuckets, MemoryTokenBuckets, RunningProcess } from '@certwright/service';
import { type CanActivate, type ExecutionContext, Inject, Injectable, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { ResponderConfig } from '../config';

/** A burst of requests per client address, in seconds of its rate. */
const burstS = 10;

/** Counts requests per client address, over all copies of this process. */
@Injectable()
class AddressLimit implements CanActivate {
  constructor(
    private readonly buckets: FallbackTokenBuckets,
    @Inject(ResponderConfig) private readonly config: Pick<ResponderConfig, 'REQUESTS_PER_S'>,
  ) {}

  /** @throws Problem `rate_limited` */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { ip, socket } = context.switchToHttp().getRequest<FastifyRequest>();
    const key = `approvals:${addressKey(ip, socket.remoteAddress)}`;
    const { REQUESTS_PER_S: ratePerS } = this.config;
    const taken = await this.buckets.take(key, { ratePerS, burst: burstS * ratePerS, cost: 1 });
    if (taken.ok) return true;
    const { retryAfterS } = taken;
    throw new Problem(
      'rate_limited',
      `Too many requests came from this address; the next one is due in ${retryAfterS} s.`,
      {
        retryAfterS,
      },
    );
  }
}

/** Limits of requests, over all copies of the process. */
@Module({
  providers: [
    { provide: APP_GUARD, useClass: AddressLimit },
    {
      provide: FallbackTokenBuckets,
      inject: [RedisAccess, RunningProcess],
      useFactory: (access: RedisAccess, { name, log, opened }: RunningProcess) => {
        const redis = connectRedis(access, { name: `${name}-limits`, log });
        opened('redis', async () => await redis.close());
        return new FallbackTokenBuckets(new RedisTokenBuckets(redis), new MemoryTokenBuckets());
      },
    },
  ],
})
export class LimitsModule {}
