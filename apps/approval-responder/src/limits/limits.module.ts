import { Problem } from '@certwright/errors';
import { connectRedis, RedisTokenBuckets } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { addressKey, FallbackTokenBuckets, MemoryTokenBuckets, RunningProcess } from '@certwright/service';
import { type CanActivate, type ExecutionContext, Inject, Injectable, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { ResponderConfig } from '../config';
import { isWellFormed } from '../web-rules/challenge-request';

/** A burst of requests per client address, in seconds of its rate. */
const burstS = 10;

/**
 * The prober and CAs are clients of all accounts: through the rules of all accounts, an address may send this many times what it may
 * send through one. The requests of one account do not use up what the others need.
 */
const rulesAtLimit = 4;

/** Counts requests per client address, and those through a web server rule per rule, over all copies of this process. */
@Injectable()
class AddressLimit implements CanActivate {
  constructor(
    private readonly buckets: FallbackTokenBuckets,
    @Inject(ResponderConfig) private readonly config: Pick<ResponderConfig, 'REQUESTS_PER_S'>,
  ) {}

  /** @throws Problem `rate_limited` */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { ip, socket, params } = context.switchToHttp().getRequest<FastifyRequest>();
    const address = `approvals:${addressKey(ip, socket.remoteAddress)}`;
    const { REQUESTS_PER_S: ratePerS } = this.config;
    const secret = secretIn(params);
    await this.take(secret === null ? address : `${address} ${secret}`, ratePerS);
    if (secret !== null) await this.take(`${address} rules`, rulesAtLimit * ratePerS);
    return true;
  }

  private async take(key: string, ratePerS: number): Promise<void> {
    const taken = await this.buckets.take(key, { ratePerS, burst: burstS * ratePerS, cost: 1 });
    if (taken.ok) return;
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

/** Of the rule that a request came through; null: none, or none that is looked up. */
function secretIn(params: unknown): string | null {
  const { secret = '', token = '' } = params as Partial<Record<'secret' | 'token', string>>;
  return isWellFormed({ secret, token }) ? secret : null;
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
