import { Transactions } from '@certwright/core-schema';
import { WebhookEndpoints } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { type HttpResponse, emptyResponse } from '../wire/response';
import { isObjectId } from '../wire/request-parameters';
import { noSuchWebhook } from '../wire/problems';

@Injectable()
export class DeleteWebhook {
  constructor(
    private readonly transactions: Transactions,
    private readonly endpoints: WebhookEndpoints,
  ) {}

  /** With its deliveries and their log. @throws Problem `not_found` */
  async run(accountId: string, id: string): Promise<HttpResponse> {
    if (!isObjectId(id)) throw noSuchWebhook();
    const deleted = await this.transactions.run(async (tx) => await this.endpoints.delete(tx, accountId, id));
    if (!deleted) throw noSuchWebhook();
    return emptyResponse;
  }
}
