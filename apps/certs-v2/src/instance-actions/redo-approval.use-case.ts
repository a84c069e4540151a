import { Issuances } from '@certwright/ordering';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { Injectable } from '@nestjs/common';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { type HttpResponse, jsonResponse } from '../wire/response';
import type { Expansion } from '../wire/expansion';
import { Refusal } from '../wire/reasons';
import { noSuchCert } from '../instances/instance-reference';
import { InstanceViews } from '../instances/instance-views';
import { openingFacts } from './opening-facts';

@Injectable()
export class RedoApproval {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly objects: CertObjectsRepository,
    private readonly issuances: Issuances,
    private readonly views: InstanceViews,
  ) {}

  /**
   * The names of the pending instance are approved by the object's current methods; a name that the object no longer
   * has keeps its method.
   *
   * @throws Refusal `no_such_cert`, `no_pending_instance`, `rate_limited`
   */
  async run(write: WriteRequest, cn: string, expansion: Expansion): Promise<HttpResponse> {
    return await this.requests.run(write, async (tx) => {
      const object = await this.objects.lock(tx, write.accountId, cn);
      if (object === null) throw noSuchCert();
      const { pending, approvalWays } = await openingFacts(tx, object);
      const { planId, termsId } = object;
      const redone =
        pending !== null && (await this.issuances.redoApprovals(tx, planId, approvalWays, termsId));
      if (pending === null || redone === false) {
        throw new Refusal('no_pending_instance', 'No instance of this certificate is pending.');
      }
      if (redone !== true) throw mailTooSoon(redone.retryAfterS);
      return jsonResponse(await this.views.one(pending.issuanceId, expansion, tx));
    });
  }
}

function mailTooSoon(retryAfterS: number): Refusal {
  const message = `The last approval email was sent a short while ago; another one can be sent in ${retryAfterS} s.`;
  return new Refusal('rate_limited', message, { retryAfterS });
}
