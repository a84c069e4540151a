import { Problem } from '@certwright/errors';
import { Certificates, Revocations } from '@certwright/ordering';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import {
  type HttpResponse,
  isObjectId,
  jsonResponse,
  type ReadMembers,
  validMembers,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { OrdersRepository } from '../orders/orders.repository';
import { certificateJson } from '../wire/certificate-json';
import type { CertificateExpansion } from '../wire/expansion';
import { noSuchCertificate, noSuchOrder } from '../wire/problems';
import type { RevocationRequest } from './revocation-request';

export interface RevocationCall {
  readonly orderName: string;
  readonly certificateId: string;
  readonly request: ReadMembers<RevocationRequest>;
  readonly expansion: CertificateExpansion;
}

@Injectable()
export class RevokeCertificate {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly orders: OrdersRepository,
    private readonly certificates: Certificates,
    private readonly revocations: Revocations,
  ) {}

  /** @throws Problem `not_found`, `conflict` for an expired certificate, `bad_request` */
  async run(
    write: WriteRequest,
    { orderName, certificateId, request, expansion }: RevocationCall,
  ): Promise<HttpResponse> {
    return await this.requests.run(write, async (tx) => {
      const { reason } = validMembers(request);
      const order = await this.orders.lock(tx, write.accountId, orderName);
      if (order === null) throw noSuchOrder();
      if (!isObjectId(certificateId)) throw noSuchCertificate();
      const { planId } = order;
      const revocation = { planId, certificateId, reason, requestedBy: 'subscriber' } as const;
      const outcome = await this.revocations.request(tx, revocation);
      if (outcome === 'expired') {
        throw new Problem('conflict', 'The certificate has expired; there is nothing left to revoke.');
      }
      const certificate = await this.certificates.ofPlan(planId, certificateId, tx);
      if (outcome === 'missing' || certificate === null) throw noSuchCertificate();
      return jsonResponse(200, certificateJson(certificate, expansion, new Date()));
    });
  }
}
