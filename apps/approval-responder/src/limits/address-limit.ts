import { Problem } from '@certwright/errors';
import { addressKey, type Rate, type TokenBuckets } from '@certwright/service';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** Counts requests per client address, over all copies of this process. */
export class AddressLimit implements CanActivate {
  constructor(
    private readonly buckets: TokenBuckets,
    private readonly rate: Rate,
  ) {}

  /** @throws Problem `rate_limited` */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { ip, socket } = context.switchToHttp().getRequest<FastifyRequest>();
    const key = `approvals:${addressKey(ip, socket.remoteAddress)}`;
    const taken = await this.buckets.take(key, { ...this.rate, cost: 1 });
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
