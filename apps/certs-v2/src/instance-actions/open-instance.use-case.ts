import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { IssuanceNews } from '@certwright/redis';
import { Injectable } from '@nestjs/common';
import { type Answer, jsonAnswer } from '../wire/answer';
import type { Arguments } from '../wire/arguments';
import type { Expansion } from '../wire/expansion';
import { readBuyRequest } from './buy-request';
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

  /** @throws Refusal `bad_param`, and as `Openings.open` */
  async buy(write: WriteRequest, cn: string, given: Arguments, expansion: Expansion): Promise<Answer> {
    return await this.open(write, cn, readBuyRequest(given), expansion);
  }

  /** @throws Refusal as `Openings.open` */
  async reissue(write: WriteRequest, cn: string, expansion: Expansion): Promise<Answer> {
    return await this.open(write, cn, { kind: 'as_paid' }, expansion);
  }

  private async open(
    write: WriteRequest,
    cn: string,
    purchase: Purchase,
    expansion: Expansion,
  ): Promise<Answer> {
    const offered = await this.openings.offered();
    let supersededId: string | null = null;
    const answer = await this.requests.run(write, async (tx) => {
      const opened = await this.openings.open(tx, { accountId: write.accountId, cn }, offered, purchase);
      supersededId = opened.supersededId;
      return jsonAnswer(await this.views.one(opened.issuanceId, expansion, tx));
    });
    // Whoever waits for it learns at once that it is canceled.
    if (supersededId !== null) this.news.publish(supersededId);
    return answer;
  }
}
