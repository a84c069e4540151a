import { AddressGuard, guardedRequest } from '@certwright/outbound';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';
import type { EndpointResponse } from './endpoint-response';

export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Only the status and `Retry-After` of a response are used; of a body, no more than this is read, bytes. */
const maxResponseBytes = 16_384;

/** Posts webhooks to the endpoints of customers. */
@Injectable()
export class PostClient {
  private readonly guard: AddressGuard;

  constructor(@Inject(Config) config: Pick<Config, 'ALLOWED_NETWORKS' | 'DNS_RESOLVERS'>) {
    this.guard = new AddressGuard({
      allowedNetworks: config.ALLOWED_NETWORKS,
      resolvers: config.DNS_RESOLVERS,
    });
  }

  /** @throws OutboundFault; the reason of the signal when it aborts */
  async post(request: PostRequest): Promise<EndpointResponse> {
    const { status, headers } = await guardedRequest(this.guard, {
      ...request,
      method: 'POST',
      maxResponseBytes,
    });
    return { status, retryAfter: headers['retry-after'] ?? null };
  }
}
