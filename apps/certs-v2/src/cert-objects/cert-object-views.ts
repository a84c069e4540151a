import type { AccountSubject } from '@certwright/accounts';
import type { Tx } from '@certwright/core-schema';
import { buysTerm, endsWithinTerm, type Product, runningTerm } from '@certwright/issuance';
import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import { InstanceViews } from '../instances/instance-views';
import { type CertObjectJson, certObjectJson, wantsStatus } from './cert-object-json';
import type { ApprovalFacts } from '../wire/approval-json';
import type { Expansion } from '../wire/expansion';
import { ApprovalStatuses, ReadyApprovals } from './approval-statuses';
import { type PlacedWay, placedWaysOf } from './approval-ways';
import type { CertObject, StoredCertObject } from './cert-object';
import { CertObjectFactsReader } from './cert-object-facts';
import { CertProducts, type ProductsByType } from './cert-products';

/** Results that were obtained before the transaction of the response. */
export interface Beforehand {
  readonly products: ProductsByType;
  readonly ready: ReadyApprovals;
}

/** What a caller has read already. */
interface Known extends Partial<Beforehand> {
  readonly subject?: AccountSubject;
  readonly approvals?: ApprovalFacts;
}

/** Shows certificate objects with the requested expansions, in a constant number of queries. */
@Injectable()
export class CertObjectViews {
  constructor(
    private readonly facts: CertObjectFactsReader,
    private readonly instances: InstanceViews,
    private readonly statuses: ApprovalStatuses,
    private readonly products: CertProducts,
    @Inject(CertsConfig)
    private readonly config: Pick<CertsConfig, 'APPROVAL_ZONE' | 'APPROVAL_URL' | 'DOWNLOAD_URL'>,
  ) {}

  /**
   * @param objects of one account
   * @param tx the open transaction, if any: everything is read on its connection
   * @param known for a response within a transaction; without `ready` there: no approval counts as being in place
   */
  async show(
    objects: readonly StoredCertObject[],
    expansion: Expansion,
    tx?: Tx,
    known: Known = {},
  ): Promise<CertObjectJson[]> {
    const [first] = objects;
    if (first === undefined) return [];
    const { accountId } = first;
    const products = known.products ?? (await this.products.byType());
    const shown = objects.map((object) => ({ object, ways: this.waysOf(object, products) }));
    const ways = shown.flatMap((each) => [...each.ways.values()]);
    const planIds = objects.map(({ planId }) => planId);
    const ready =
      known.ready ??
      (tx === undefined ? await this.ready(accountId, planIds, ways, expansion) : ReadyApprovals.none);
    const subject = known.subject ?? (await this.facts.subject(accountId, tx));
    const approvals = known.approvals ?? (await this.facts.approvals(accountId, ways, tx));
    const instances = await this.instancesOf(planIds, expansion, tx);
    const now = new Date();
    return shown.map(({ object, ways }) => {
      const { current = null, pending = null } = instances.get(object.planId) ?? {};
      const subscriptionEnding = isSubscriptionEnding(object, products[object.type], now);
      const facts = { ...approvals, subject, ready, ways, current, pending, subscriptionEnding };
      return certObjectJson(object, expansion, facts, this.places);
    });
  }

  /** Whether the response includes which approvals are in place. */
  includesStatus(expansion: Expansion): boolean {
    return (['dns', 'http'] as const).some((method) => needsStatus(expansion, method));
  }

  /**
   * Results that `show` cannot obtain within a transaction.
   *
   * @param planId null: the object is not stored yet
   */
  async beforehand(
    accountId: string,
    planId: string | null,
    object: CertObject,
    expansion: Expansion,
  ): Promise<Beforehand> {
    const products = await this.products.byType();
    const ways = [...this.waysOf(object, products).values()];
    const ready = await this.ready(accountId, planId === null ? [] : [planId], ways, expansion);
    return { products, ready };
  }

  private async ready(
    accountId: string,
    planIds: readonly string[],
    ways: readonly PlacedWay[],
    expansion: Expansion,
  ): Promise<ReadyApprovals> {
    const approvals = ways.filter(({ method }) => needsStatus(expansion, method));
    return await this.statuses.of({ accountId, planIds, approvals });
  }

  private waysOf(object: CertObject, products: ProductsByType): ReadonlyMap<string, PlacedWay> {
    return placedWaysOf(object, this.products.acceptsRecordsAbove(products[object.type]));
  }

  private async instancesOf(planIds: readonly string[], expansion: Expansion, tx?: Tx) {
    const wanted = (member: string) => (expansion.has(member) ? expansion.below(member) : null);
    const [current, pending] = [wanted('current'), wanted('pending')];
    if (current === null && pending === null) return new Map<string, never>();
    return await this.instances.ofPlans(planIds, { current, pending }, tx);
  }

  private get places() {
    const { APPROVAL_ZONE, APPROVAL_URL, DOWNLOAD_URL } = this.config;
    return { approvalZone: APPROVAL_ZONE, approvalUrl: APPROVAL_URL, downloadUrl: DOWNLOAD_URL };
  }
}

function needsStatus(expansion: Expansion, method: PlacedWay['method']): boolean {
  return wantsStatus(expansion, method) || wantsStatus(expansion.below('sans'), method);
}

/** The purchase of an object, and the end of its active instance. */
type Subscription = Pick<StoredCertObject, 'paidThrough' | 'paidProduct' | 'activeUntil'>;

/**
 * Whether only a purchase renews the object. Existing clients buy in that case, and reissue otherwise; a reissue
 * needs an active instance, and is useful only while the term lasts longer than that one.
 *
 * @param product of the object's type; null: there is none
 */
function isSubscriptionEnding(
  { paidThrough, paidProduct, activeUntil }: Subscription,
  product: Pick<Product, 'name' | 'termDays'> | null,
  now: Date,
): boolean {
  if (product === null || paidThrough === null || paidProduct === null || activeUntil === null) return true;
  // The number of covered names is the price of a reissue, and does not decide whether one is possible.
  const paid = { through: paidThrough, product: paidProduct, names: 0, wildcards: 0 };
  const running = runningTerm(paid, product.name, now);
  if (running === null || buysTerm('renewal', running, product, now)) return true;
  return !endsWithinTerm({ notAfter: activeUntil }, { own: null, paid: running });
}
