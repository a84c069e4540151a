import { DnsIntegrations } from '@certwright/dns-integrations';
import { Transactions } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { type HttpResponse, emptyResponse } from '../wire/response';
import { isObjectId } from '../wire/request-parameters';
import { noSuchIntegration } from '../wire/problems';

@Injectable()
export class DeleteIntegration {
  constructor(
    private readonly transactions: Transactions,
    private readonly integrations: DnsIntegrations,
  ) {}

  /** Takes effect at once, also while it is leased; the worker removes its records. @throws Problem `not_found` */
  async run(accountId: string, id: string): Promise<HttpResponse> {
    if (!isObjectId(id)) throw noSuchIntegration();
    const deleted = await this.transactions.run(
      async (tx) => await this.integrations.markDeleted(tx, accountId, id),
    );
    if (!deleted) throw noSuchIntegration();
    return emptyResponse;
  }
}
