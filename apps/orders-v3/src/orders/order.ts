import type { KeyType } from '@certwright/issuance';

/** The products of orders; others belong to other APIs. */
export const orderProducts: readonly string[] = ['free_ca', 'paid_ca'];

/** The free product: an order without `product` is never charged. */
export const defaultProduct = 'free_ca';

/**
 * A certificate that is kept valid for a caller, as the order API defines it. All members except `name` may be
 * modified.
 */
export interface Order {
  readonly name: string;
  /** Normal form (lower-case A-labels), no duplicates, in the caller's order. */
  readonly dnsNames: readonly string[];
  /** DNS name in normal form → lower-case address that may approve it. */
  readonly approverEmails: Readonly<Record<string, string>>;
  /** Null: unmanaged, the caller makes the keys. */
  readonly cluster: string | null;
  readonly autoRenew: boolean;
  readonly muted: boolean;
  readonly paused: boolean;
  readonly product: string;
  readonly keyType: KeyType;
  readonly csr: OrderCsr | null;
}

export interface OrderCsr {
  /** PKCS#10, DER. */
  readonly der: Uint8Array;
  /** SHA-256 over the DER SubjectPublicKeyInfo. */
  readonly spkiSha256: Uint8Array;
}

/** An order in the database. */
export interface StoredOrder extends Order {
  readonly planId: string;
  readonly accountId: string;
  /** Null exactly while `csr` is null. */
  readonly termsId: string | null;
  /** Positive; grows with every effective modification. */
  readonly revision: number;
  readonly downloadToken: string;
}

/** The changes of a modification; a member that is left out keeps its value. */
export type OrderPatch = { readonly [M in keyof Order]?: Order[M] };

/** Requirements of the resulting product on the order. */
export interface ProductSupport {
  /** The product requires every DNS name in the CSR. */
  readonly namesEveryDnsName: boolean;
  readonly emailApproval: boolean;
  /** Whether the product issues the modified order from the CSR that the order has at present. */
  readonly existingCsr: (after: Omit<Order, 'csr'>) => boolean;
}

/** The order that results from a modification; `order-rules.ts` checks it. */
export function modifiedOrder(before: Order, patch: OrderPatch, support: ProductSupport): Order {
  const given = { ...before, ...patch };
  // Another sequence of the same names is no change: the order keeps the one it has.
  const dnsNames = sameNames(before.dnsNames, given.dnsNames) ? before.dnsNames : given.dnsNames;
  const approverEmails =
    patch.approverEmails ?? remainingApprovers(before.approverEmails, dnsNames, support.emailApproval);
  const after = { ...given, dnsNames, approverEmails };
  return { ...after, csr: patch.csr ?? (resetsCsr(before, after, support) ? null : before.csr) };
}

/** The four rules by which a change resets `csr` to null, unless the same request carries a new one. */
function resetsCsr(before: Order, after: Omit<Order, 'csr'>, support: ProductSupport): boolean {
  return (
    (!sameNames(before.dnsNames, after.dnsNames) && support.namesEveryDnsName) ||
    before.cluster !== after.cluster ||
    before.keyType !== after.keyType ||
    (before.product !== after.product && before.csr !== null && !support.existingCsr(after))
  );
}

/** Without approvers of names that the order no longer has; none when the product has no approval by email. */
function remainingApprovers(
  approverEmails: Order['approverEmails'],
  dnsNames: readonly string[],
  emailApproval: boolean,
): Order['approverEmails'] {
  if (!emailApproval) return {};
  return Object.fromEntries(Object.entries(approverEmails).filter(([name]) => dnsNames.includes(name)));
}

/** Effects of a modification. */
export interface Consequences {
  readonly terms: 'keep' | 'replace' | 'clear';
  /** `open`: a certificate is issued for the new revision. `close`: the open issuance ends, and none begins. */
  readonly issuance: 'open' | 'close';
}

/** @returns null when nothing changed: no effects, and the revision stays */
export function consequencesOf(before: Order, after: Order): Consequences | null {
  const changesTerms =
    !sameNames(before.dnsNames, after.dnsNames) ||
    !sameCsr(before.csr, after.csr) ||
    before.keyType !== after.keyType ||
    before.product !== after.product ||
    !sameApprovers(before.approverEmails, after.approverEmails);
  const changes =
    changesTerms ||
    before.cluster !== after.cluster ||
    before.autoRenew !== after.autoRenew ||
    before.muted !== after.muted ||
    before.paused !== after.paused;
  if (!changes) return null;
  if (after.csr === null) {
    // Names that are removed need no approval records, also while the order waits for a CSR.
    const keeps = before.csr === null && sameNames(before.dnsNames, after.dnsNames);
    return { terms: keeps ? 'keep' : 'clear', issuance: 'close' };
  }
  return { terms: changesTerms ? 'replace' : 'keep', issuance: after.paused ? 'close' : 'open' };
}

/**
 * What becomes of the request for a key when an order of a cluster changes; null: nothing. `replace`: a response to an
 * earlier request no longer fits the order. `end_renewal`: the modification renews the certificate.
 */
export function keyRequestChange(
  before: Order | null,
  after: Order,
): 'replace' | 'ensure' | 'end' | 'end_renewal' | null {
  // The request of an order that leaves its cluster ends with it.
  if (after.cluster === null) return null;
  if (after.csr !== null) return 'end_renewal';
  if (after.paused) return 'end';
  const isAsBefore =
    before?.csr === null &&
    before.cluster === after.cluster &&
    before.keyType === after.keyType &&
    before.product === after.product &&
    sameNames(before.dnsNames, after.dnsNames);
  return isAsBefore ? 'ensure' : 'replace';
}

/** The same set; neither list has duplicates. */
export function sameNames(some: readonly string[], others: readonly string[]): boolean {
  const set = new Set(some);
  return some.length === others.length && others.every((name) => set.has(name));
}

function sameCsr(one: OrderCsr | null, other: OrderCsr | null): boolean {
  return one === null || other === null ? one === other : Buffer.compare(one.der, other.der) === 0;
}

function sameApprovers(some: Order['approverEmails'], others: Order['approverEmails']): boolean {
  const names = Object.keys(some);
  return sameNames(names, Object.keys(others)) && names.every((name) => some[name] === others[name]);
}
