import { BlockedKeys } from '@certwright/ordering';
import { isUniqueViolation, type Tx } from '@certwright/core-schema';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { Injectable } from '@nestjs/common';
import { type HttpResponse, jsonResponse } from '../wire/response';
import type { Expansion } from '../wire/expansion';
import { Refusal } from '../wire/reasons';
import { ReadyApprovals } from './approval-statuses';
import type { StoredCertObject } from './cert-object';
import { CertObjectChanges } from './cert-object-changes';
import type { CertObjectRequest } from './cert-object-request';
import { type Beforehand, CertObjectViews } from './cert-object-views';
import { CertObjectsRepository } from './cert-objects.repository';
import { CertProducts } from './cert-products';
import { type DesiredFacts, desiredCertObject } from './desired-cert-object';

/** What is requested for which common name of which account. */
interface Desire {
  readonly accountId: string;
  readonly cn: string;
  readonly request: CertObjectRequest;
  readonly facts: DesiredFacts;
}

/** Creates the object of a common name, or changes what was supplied. */
@Injectable()
export class SaveCertObject {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly objects: CertObjectsRepository,
    private readonly changes: CertObjectChanges,
    private readonly views: CertObjectViews,
    private readonly products: CertProducts,
    private readonly blockedKeys: BlockedKeys,
  ) {}

  /** @throws Refusal for the first thing that is wrong */
  async run(
    write: WriteRequest,
    cn: string,
    request: CertObjectRequest,
    expansion: Expansion,
  ): Promise<HttpResponse> {
    const { accountId } = write;
    const desire = { accountId, cn, request, facts: await this.factsOf(accountId, request) };
    const beforehand = await this.beforehand(desire, expansion);
    const save = async () =>
      await this.requests.run(write, async (tx) => {
        const stored = await this.save(tx, desire);
        const [shown] = await this.views.show([stored], expansion, tx, beforehand);
        return jsonResponse(shown);
      });
    try {
      return await save();
    } catch (error) {
      // A concurrent request created it: then this request modifies it.
      if (!isUniqueViolation(error, 'cert_object_v2_cn')) throw error;
      return await save();
    }
  }

  private async save(tx: Tx, { accountId, cn, request, facts }: Desire): Promise<StoredCertObject> {
    const before = await this.objects.lock(tx, accountId, cn);
    const after = desiredCertObject(before, cn, request, facts);
    const product = facts.products[after.type];
    if (before !== null) return await this.changes.modify(tx, before, after, product);
    if (product === null) throw new Error(`no product for an object of the type ${after.type}`);
    return await this.changes.create(tx, accountId, after, product);
  }

  /** To be called before the transaction is begun: one that waits for a second connection may wait for itself. */
  private async factsOf(accountId: string, { csr }: CertObjectRequest): Promise<DesiredFacts> {
    return {
      products: await this.products.byType(),
      keyBlocked:
        csr !== undefined && (await this.blockedKeys.has(Buffer.from(csr.spkiSha256, 'hex'), accountId)),
    };
  }

  /** Web servers are checked before the transaction, so that no lock on the plan waits for them. */
  private async beforehand(
    { accountId, cn, request, facts }: Desire,
    expansion: Expansion,
  ): Promise<Beforehand> {
    const nothing = { products: facts.products, ready: ReadyApprovals.none };
    if (!this.views.includesStatus(expansion)) return nothing;
    const before = await this.objects.find(accountId, cn);
    try {
      const draft = desiredCertObject(before, cn, request, facts);
      return await this.views.beforehand(accountId, before?.planId ?? null, draft, expansion);
    } catch (error) {
      // The transaction reports the error, unless it finds that the request was carried out already.
      if (error instanceof Refusal) return nothing;
      throw error;
    }
  }
}
