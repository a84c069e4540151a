import type { Product } from '@certwright/issuance';
import { Plans, Products, Purchases } from '@certwright/ordering';
import { type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import type { StoredCertObject } from '../cert-objects/cert-object';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { Refusal } from '../wire/reasons';
import { noSuchCert } from '../instances/instance-reference';
import { openingFacts, type OpeningFacts } from './opening-facts';

/** Reason for opening an instance. */
export type Purchase =
  | {
      /** Another term is bought with it. */
      readonly kind: 'term';
      readonly invoiceNote: string | null;
      readonly emailInvoiceTo: string | null;
    }
  /** It belongs to the term that was bought before. */
  | { readonly kind: 'as_paid' };

export interface Opened {
  readonly issuanceId: string;
  /** The issuance that gave way; null: none was open. */
  readonly supersededId: string | null;
}

/** Opens instances of certificate objects from the details that those have at that moment. */
@Injectable()
export class Openings {
  constructor(
    private readonly objects: CertObjectsRepository,
    private readonly plans: Plans,
    private readonly products: Products,
    private readonly purchases: Purchases,
  ) {}

  /** To be called before the transaction begins: it may need a connection of its own. */
  async offered(): Promise<ReadonlyMap<string, Product>> {
    return await this.products.byName();
  }

  /**
   * @param offered products by name
   * @throws Refusal `no_such_cert`, `inactive_cert`, `imported_instance`, `bad_csr`, `product_unavailable`,
   *   `already_pending`; Problem `payment_required`
   */
  async open(
    tx: Tx,
    { accountId, cn }: { readonly accountId: string; readonly cn: string },
    offered: ReadonlyMap<string, Product>,
    purchase: Purchase,
  ): Promise<Opened> {
    const object = await this.objects.lock(tx, accountId, cn);
    if (object === null) throw noSuchCert();
    const facts = await openingFacts(tx, object);
    const product = offered.get(facts.product);
    if (purchase.kind === 'as_paid') assertReissuable(facts);
    assertCertifiable(facts);
    if (product === undefined || !product.available) throw productUnavailable();
    assertNotPending(object, facts, product, purchase);
    const issuanceId = await this.purchase(tx, object, facts, product, purchase);
    return { issuanceId, supersededId: facts.pending?.issuanceId ?? null };
  }

  private async purchase(
    tx: Tx,
    object: StoredCertObject,
    { dnsNames, approvalWays }: OpeningFacts,
    product: Product,
    purchase: Purchase,
  ): Promise<string> {
    const { planId, accountId, termsId, autoRenew, muted } = object;
    // One certificate is issued per revision of a plan; the same details may be bought again.
    const revision = await this.plans.modify(tx, planId, { autoRenew, muted, paused: false });
    const opening = { planId, accountId, revision, termsId, dnsNames, approvalWays, settlingMs: 0, product };
    const { issuanceId } = await this.purchases.open(tx, opening, purchase);
    return issuanceId;
  }
}

/** An imported instance may have replaced a purchased one: the paid term still allows issuance. */
function assertReissuable({ current, isPaid }: OpeningFacts): void {
  if (current === null) {
    throw new Refusal('inactive_cert', 'No instance of this certificate is active: buy one.');
  }
  if (current.imported && !isPaid) {
    throw new Refusal(
      'imported_instance',
      'The active instance was imported, and only its issuer can reissue it; buy one here.',
    );
  }
}

/** It would fail: the issuer checks the same list. */
function assertCertifiable({ keyBlocked }: OpeningFacts): void {
  if (!keyBlocked) return;
  const message =
    'The key of the CSR is known to be compromised. Generate a new key, and change the csr of the certificate.';
  throw new Refusal('bad_csr', message, { param: 'csr' });
}

function productUnavailable(): Refusal {
  return new Refusal('product_unavailable', 'Certificates of this type are not sold at present.');
}

/**
 * The pending issuance with the same result: from the same details, and, for a purchase of time, with a term that was
 * bought with it. All others are superseded.
 */
function assertNotPending(
  object: StoredCertObject,
  { pending }: OpeningFacts,
  { termDays }: Product,
  { kind }: Purchase,
): void {
  if (pending === null || pending.termsId !== object.termsId) return;
  if (kind === 'term' && termDays !== null && !pending.paysTerm) return;
  throw new Refusal(
    'already_pending',
    `The instance ${pending.instanceId} with the same details is pending already.`,
  );
}
