import type { Product } from './product';
import { type BillableNames, billableNames } from './purchase-names';

/** Sales terms of a product. */
export type SoldProduct = Pick<
  Product,
  'name' | 'termDays' | 'priceCents' | 'wildcardPriceCents' | 'currency'
>;

/** The paid term, running or ended. */
export interface Paid {
  /** End of the term. */
  readonly through: Date;
  readonly product: string;
  /** Names that the term covers, and wildcard names; see `billableNames`. */
  readonly names: number;
  readonly wildcards: number;
}

/**
 * `term`: buys a term, even if one is paid already. `as_paid`: buys only what the running term does not cover yet.
 * `renewal`: like `as_paid` until the running term is due for renewal, then like `term`.
 */
export type PurchaseKind = 'term' | 'as_paid' | 'renewal';

/** Quantity times unit price is the amount; amounts in hundredths of the currency. */
export interface PurchaseLine {
  readonly description: string;
  readonly quantity: number;
  readonly unitCents: number;
  readonly cents: number;
}

export interface Purchase {
  readonly kind: 'term' | 'added_names';
  /** Paid with it: all of a term's, or those that are added to a running one. */
  readonly names: number;
  readonly wildcards: number;
  /** The paid term from then on. */
  readonly paid: Paid;
  readonly lines: readonly PurchaseLine[];
  /** Sum of the lines. */
  readonly cents: number;
  readonly currency: string;
}

export interface PurchaseRequest {
  readonly product: SoldProduct;
  readonly dnsNames: readonly string[];
  readonly paid: Paid | null;
  readonly now: Date;
  /** Intended end of the certificate that the new one replaces; null or omitted: there is none. */
  readonly lasting?: Date | null;
}

export interface Charge {
  /** Null: no charge. */
  readonly purchase: Purchase | null;
  /** Latest end of the certificate's validity; null: not sold by time. */
  readonly expiresBy: Date | null;
}

const dayMs = 86_400_000;
const afterDays = (from: Date, days: number) => new Date(from.getTime() + days * dayMs);
const earlier = (one: Date, other: Date) => (one.getTime() < other.getTime() ? one : other);

/**
 * Price of an issuance, and the latest end of its certificate. A purchased certificate lasts a term from now on, also
 * when the purchase extends a running term. Any other lasts as long as the one it replaces, else to the end of the
 * term.
 */
export function chargeFor(kind: PurchaseKind, request: PurchaseRequest): Charge {
  const { product, paid, now, lasting = null } = request;
  if (product.termDays === null) return { purchase: null, expiresBy: null };
  const running = runningTerm(paid, product.name, now);
  if (running === null || buysTerm(kind, running, product, now)) {
    const purchase = term(request, product.termDays, running);
    return { purchase, expiresBy: earlier(purchase.paid.through, afterDays(now, product.termDays)) };
  }
  const isToLast = lasting !== null && lasting.getTime() > now.getTime();
  return {
    purchase: addedNames(request, product.termDays, running),
    expiresBy: isToLast ? earlier(lasting, running.through) : running.through,
  };
}

/** @returns the running term that was paid for this product; null: none */
export function runningTerm(paid: Paid | null, product: string, now: Date): Paid | null {
  return paid?.product === product && paid.through.getTime() > now.getTime() ? paid : null;
}

/** A term is renewed in its last 30 days, a short one in its last third. */
const renewal = { maxDays: 30, share: 1 / 3 };

/** How long before its end a term, or the certificate that represents one, is renewed. */
export function renewalLeadMs(lastingMs: number): number {
  return Math.min(renewal.maxDays * dayMs, lastingMs * renewal.share);
}

/** Whether this kind buys a term while one is running. */
export function buysTerm(
  kind: PurchaseKind,
  running: Paid,
  { termDays }: Pick<SoldProduct, 'termDays'>,
  now: Date,
): boolean {
  if (kind !== 'renewal' || termDays === null) return kind === 'term';
  const leftMs = running.through.getTime() - now.getTime();
  return leftMs <= renewalLeadMs(termDays * dayMs);
}

export function covers(paid: BillableNames, { names, wildcards }: BillableNames): boolean {
  return names <= paid.names && wildcards <= paid.wildcards;
}

/**
 * The full price of all names, for a term that begins where the running one ends. Names that the running term does
 * not cover are also charged for its remaining time: else a long term of one name could be bought and then filled.
 */
function term(request: PurchaseRequest, termDays: number, running: Paid | null): Purchase {
  const { product, dnsNames, now } = request;
  const wanted = billableNames(dnsNames);
  const from = running?.through ?? now;
  const through = afterDays(from, termDays);
  const before =
    running === null ? [] : linesOf(request, missing(wanted, running), rest(running, termDays, now));
  const lines = [
    ...before,
    ...linesOf(request, wanted, { from, through, days: termDays, termDays, added: '' }),
  ];
  return {
    kind: 'term',
    ...wanted,
    paid: { ...wanted, through, product: product.name },
    ...sum(product, lines),
  };
}

function addedNames(request: PurchaseRequest, termDays: number, running: Paid): Purchase | null {
  const { product, dnsNames, now } = request;
  const wanted = billableNames(dnsNames);
  if (covers(running, wanted)) return null;
  const added = missing(wanted, running);
  const paid = {
    ...running,
    names: running.names + added.names,
    wildcards: running.wildcards + added.wildcards,
  };
  const lines = linesOf(request, added, rest(running, termDays, now));
  return { kind: 'added_names', ...added, paid, ...sum(product, lines) };
}

function missing(wanted: BillableNames, paid: BillableNames): BillableNames {
  return {
    names: Math.max(0, wanted.names - paid.names),
    wildcards: Math.max(0, wanted.wildcards - paid.wildcards),
  };
}

/** A time that is paid for. */
interface Span {
  readonly from: Date;
  readonly through: Date;
  /** Whole days; a day that has begun counts. */
  readonly days: number;
  /** Days that the price covers. */
  readonly termDays: number;
  readonly added: 'added ' | '';
}

function rest({ through }: Paid, termDays: number, now: Date): Span {
  const days = Math.ceil((through.getTime() - now.getTime()) / dayMs);
  return { from: now, through, days, termDays, added: 'added ' };
}

/** Each line names the product and the first name of the certificate. */
function linesOf(
  { product, dnsNames: [firstName = ''] }: PurchaseRequest,
  { names, wildcards }: BillableNames,
  span: Span,
): PurchaseLine[] {
  const what = `${product.name} for ${firstName}`;
  return [
    lineOf(`${what}, ${span.added}name`, names, product.priceCents, span),
    lineOf(`${what}, ${span.added}wildcard name`, wildcards, product.wildcardPriceCents, span),
  ].filter(({ quantity }) => quantity > 0);
}

function lineOf(
  what: string,
  quantity: number,
  priceCents: number,
  { from, through, days, termDays }: Span,
): PurchaseLine {
  const unitCents = proRata(priceCents, days, termDays);
  const description = `${what}, ${dateOf(from)} to ${dateOf(through)}`;
  return { description, quantity, unitCents, cents: quantity * unitCents };
}

/** Rounded up to the cent; never more than the price of the whole term. */
function proRata(priceCents: number, days: number, termDays: number): number {
  const term = BigInt(termDays);
  return Number((BigInt(priceCents) * BigInt(days) + term - 1n) / term);
}

const dateOf = (date: Date) => date.toISOString().slice(0, 10);

function sum(
  { currency }: SoldProduct,
  lines: readonly PurchaseLine[],
): Pick<Purchase, 'lines' | 'cents' | 'currency'> {
  return { lines, cents: lines.reduce((total, { cents }) => total + cents, 0), currency };
}
