import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { IssuanceNews } from '@certwright/redis';
import { Injectable } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { type HttpResponse, jsonResponse } from '../wire/response';
import { FlagArgument } from '../wire/arguments';
import { ApiInteger } from '../wire/openapi/members';
import { noSuchCert } from '../instances/instance-reference';
import { InstanceRevocation, type RevocationCount } from './instance-revocation';
import { openingFacts } from './opening-facts';

@ApiSchema({ name: 'RevokeRequest' })
export class RevokeRequest {
  @FlagArgument({}) all?: boolean;
}

@ApiSchema({ name: 'RevokeResult' })
export class RevokeResultJson {
  @ApiProperty({
    enum: ['pending', 'revoked'],
    description: 'pending until the CA has confirmed every revocation, those of earlier calls included.',
  })
  status: 'pending' | 'revoked';
  @ApiInteger('Instances that this call revoked.') num_revoked: number;
  @ApiInteger('Instances that are active, imported ones included.') num_active: number;
  @ApiInteger('Instances that were left because they were imported.') num_imported: number;
}

@Injectable()
export class RevokeInstances {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly objects: CertObjectsRepository,
    private readonly revocation: InstanceRevocation,
    private readonly news: IssuanceNews,
  ) {}

  /**
   * A repetition changes nothing: `num_revoked` is what this call revoked, and `status` says whether all of the object's
   * revocations are confirmed.
   *
   * @throws Refusal `no_such_cert`
   */
  async run(write: WriteRequest, cn: string, { all = false }: RevokeRequest): Promise<HttpResponse> {
    let canceledId: string | null = null;
    const scope = all ? 'all' : 'all but the current';
    const response = await this.requests.run(write, async (tx) => {
      const object = await this.objects.lock(tx, write.accountId, cn);
      if (object === null) throw noSuchCert();
      if (all) {
        canceledId = (await openingFacts(tx, object)).pending?.issuanceId ?? null;
      }
      const revoked = all
        ? await this.revocation.revokeAll(tx, object)
        : await this.revocation.revokeOthers(tx, object);
      return jsonResponse(revocationJson(revoked, await this.revocation.count(tx, object.planId, scope)));
    });
    // Clients that wait for it learn at once that it is canceled.
    if (canceledId !== null) this.news.publish(canceledId);
    return response;
  }
}

function revocationJson(
  revoked: number,
  { unconfirmed, active, imported }: RevocationCount,
): RevokeResultJson {
  return {
    status: unconfirmed > 0 ? 'pending' : 'revoked',
    num_revoked: revoked,
    num_active: active,
    num_imported: imported,
  };
}
