import { Problem } from '@certwright/errors';
import { addressKey, FallbackTokenBuckets } from '@certwright/service';
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ResponderConfig } from '../config';

/** A burst of requests per client address, in seconds of its rate. */
const burstS = 10;

/** Counts requests per client address, over all copies of this process. */
@Injectable()
export class AddressLimit implements CanActivate {
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
