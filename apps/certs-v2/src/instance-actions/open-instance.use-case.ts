import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { IssuanceNews } from '@certwright/redis';
import { Injectable } from '@nestjs/common';
import { type HttpResponse, jsonResponse } from '../wire/response';
import type { Expansion } from '../wire/expansion';
import { InstanceViews } from '../instances/instance-views';
import { Openings, type Purchase } from './openings';

@Injectable()
export class OpenInstance {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly openings: Openings,
    private readonly views: InstanceViews,
    private readonly news: IssuanceNews,
  ) {}

  /** @throws Refusal as `Openings.open` */
  async run(
    write: WriteRequest,
    cn: string,
    purchase: Purchase,
    expansion: Expansion,
  ): Promise<HttpResponse> {
    const offered = await this.openings.offered();
    let supersededId: string | null = null;
    const response = await this.requests.run(write, async (tx) => {
      const opened = await this.openings.open(tx, { accountId: write.accountId, cn }, offered, purchase);
      supersededId = opened.supersededId;
      return jsonResponse(await this.views.one(opened.issuanceId, expansion, tx));
    });
    // Clients that wait for it learn at once that it is canceled.
    if (supersededId !== null) this.news.publish(supersededId);
    return response;
  }
}
