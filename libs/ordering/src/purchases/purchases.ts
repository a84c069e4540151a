import { Problem } from '@certwright/errors';
import {
  amountText,
  type Charge,
  chargeFor,
  paidWithout,
  type Product,
  type PurchaseKind,
  type SoldProduct,
  takeOver,
  type TakeOver,
} from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Issuances, type OpenIssuance } from '../issuances/issuances';
import { openReplacements, type Replacement } from '../issuances/replacements';
import { Mails } from '@certwright/delivery';
import type { Tx } from '@certwright/core-schema';
import type { InvoiceLine } from '@certwright/core-schema';
import { setPaid, storedBefore } from '@certwright/billing';
import { pay } from '@certwright/billing';
import { purchaseInputs, type PurchaseInputs } from './purchase-inputs';
import { carryOver, charge, giveBack } from '@certwright/billing';

export type PurchasedIssuance = Omit<OpenIssuance, 'expiresBy'> & { readonly product: Product };

export interface PurchaseTerms {
  readonly kind: PurchaseKind;
  /** Printed on the invoice, as the buyer wrote it. */
  readonly invoiceNote?: string | null;
  /** Gets a copy of the invoice. */
  readonly emailInvoiceTo?: string | null;
}

export interface QuoteRequest {
  /** Null: the plan does not exist yet. */
  readonly planId: string | null;
  readonly product: Product;
  readonly dnsNames: readonly string[];
  readonly kind: PurchaseKind;
}

export interface Quote {
  /** Hundredths of the currency. */
  readonly cents: number;
  readonly currency: string;
  readonly lines: readonly InvoiceLine[];
  /** Term of one purchase; null: not sold by time. */
  readonly termDays: number | null;
}

/**
 * Opens issuances and charges for them: a purchase is written in the transaction that opens the issuance, and is
 * committed or rolled back with it. The caller holds the plan's row; the order of locks is plan, issuance, balance.
 */
@Injectable()
export class Purchases {
  constructor(
    private readonly database: DataSource,
    private readonly issuances: Issuances,
    private readonly mails: Mails,
  ) {}

  /**
   * Opens an issuance of the plan's current terms and charges for it; it supersedes the open one, whose charges serve
   * the new one or are refunded.
   *
   * @throws Problem `payment_required`: then the transaction must not be committed
   */
  async open(
    tx: Tx,
    { product, ...opening }: PurchasedIssuance,
    { kind, invoiceNote = null, emailInvoiceTo = null }: PurchaseTerms,
  ): Promise<{ readonly issuanceId: string }> {
    // Charges of an issuance superseded by such a product are refunded by the sweep.
    if (product.termDays === null) {
      return { issuanceId: await this.issuances.open(tx, { ...opening, expiresBy: null }) };
    }
    const bought = decide(await purchaseInputs(tx, opening.planId), kind, product, opening.dnsNames);
    const issuanceId = await this.issuances.open(tx, { ...opening, expiresBy: bought.expiresBy });
    await this.settle(tx, { ...opening, issuanceId, bought, note: invoiceNote, emailTo: emailInvoiceTo });
    return { issuanceId };
  }

  /**
   * Replaces a certificate by buying a term for the plan's present terms. A term that a failed attempt bought is used.
   *
   * @param now null: the database's clock
   * @returns null when it is replaced already, or an issuance is under way: then no row was written
   * @throws Problem `payment_required`: then the transaction must not be committed
   */
  async renew(
    tx: Tx,
    replacement: Omit<Replacement, 'expiresBy'>,
    product: SoldProduct,
    now: Date | null = null,
  ): Promise<string | null> {
    const inputs = await purchaseInputs(tx, replacement.planId, now);
    const bought = decide(inputs, isTermUnused(inputs) ? 'as_paid' : 'term', product, replacement.dnsNames);
    const [issuanceId] = await openReplacements(tx, [{ ...replacement, expiresBy: bought.expiresBy }]);
    if (issuanceId === undefined) return null;
    await this.settle(tx, { ...replacement, issuanceId, bought, note: null, emailTo: null });
    return issuanceId;
  }

  /** Whether an issuance that is opened now costs nothing. The caller holds the plan's row. */
  async isCovered(tx: Tx, { planId, product, dnsNames, kind }: QuoteRequest): Promise<boolean> {
    if (product.termDays === null) return true;
    return decide(await purchaseInputs(tx, planId), kind, product, dnsNames).purchase === null;
  }

  /** Price of opening an issuance now. */
  async quote({ planId, product, dnsNames, kind }: QuoteRequest): Promise<Quote> {
    const { termDays, currency } = product;
    if (termDays === null) return { cents: 0, currency, lines: [], termDays };
    const { purchase } = decide(await purchaseInputs(this.database, planId), kind, product, dnsNames);
    return { cents: purchase?.cents ?? 0, currency, lines: purchase?.lines ?? [], termDays };
  }

  /** Replacement and paid term end: everything was revoked. Charges are not refunded. */
  async endPaidTerm(tx: Tx, planId: string): Promise<void> {
    await setPaid(tx, planId, null);
    await tx.query(`UPDATE plan SET replacement_paid = false WHERE id = $1 AND replacement_paid`, [planId]);
  }

  private async settle(tx: Tx, settling: Settling): Promise<void> {
    const { accountId, planId, issuanceId, bought, note, emailTo } = settling;
    const { carried, refunded, paid, purchase } = bought;
    if (carried.length > 0) await carryOver(tx, carried.map(idOf), issuanceId);
    if (refunded.length > 0) await giveBack(tx, refunded.map(idOf));
    if (purchase === null) {
      if (refunded.length > 0) await setPaid(tx, planId, paid);
      return;
    }
    if (purchase.cents > maxCents) throw tooDear(purchase.cents, purchase.currency);
    const before = storedBefore(paid);
    const chargeId = await charge(tx, { accountId, planId, issuanceId, purchase, before });
    if (purchase.cents === 0) return;
    const invoiceNumber = await pay(tx, { accountId, chargeId, purchase, note, emailTo });
    if (emailTo === null) return;
    const facts = { invoiceNumber };
    await this.mails.enqueue(tx, { accountId, kind: 'invoice', recipient: emailTo, facts });
  }
}

type Bought = TakeOver & Charge;

interface Settling extends Pick<OpenIssuance, 'accountId' | 'planId'> {
  readonly issuanceId: string;
  readonly bought: Bought;
  readonly note: string | null;
  readonly emailTo: string | null;
}

function decide(
  { now, isSandbox, paid, unused, currentExpiresBy }: PurchaseInputs,
  kind: PurchaseKind,
  product: SoldProduct,
  dnsNames: readonly string[],
): Bought {
  const sold = isSandbox ? { ...product, priceCents: 0, wildcardPriceCents: 0 } : product;
  const taken = takeOver(kind, sold, paid, unused, now);
  const lasting = latest([currentExpiresBy, ...taken.carried.map(({ expiresBy }) => expiresBy)]);
  return { ...taken, ...chargeFor(kind, { product: sold, dnsNames, paid: taken.paid, now, lasting }) };
}

/** Whether an attempt without a certificate bought the term that is paid. */
function isTermUnused({ paid, unused }: PurchaseInputs): boolean {
  return paid?.through.getTime() !== paidWithout(unused, paid)?.through.getTime();
}

function latest(instants: readonly (Date | null)[]): Date | null {
  return instants.reduce<Date | null>(
    (last, instant) => (instant !== null && (last === null || instant > last) ? instant : last),
    null,
  );
}

const idOf = ({ id }: { readonly id: string }) => id;

/** Maximum of the columns: 2^31 - 1 hundredths. */
const maxCents = 2_147_483_647;

function tooDear(cents: number, currency: string): Problem {
  return new Problem(
    'payment_required',
    `${amountText(cents, currency)} is due, which is more than can be charged at once. Please ask the operator.`,
  );
}
