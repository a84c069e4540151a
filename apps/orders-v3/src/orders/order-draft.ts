import type { FieldFault } from '@certwright/errors';
import type { Product } from '@certwright/issuance';
import { checkCsr, readCsr } from '@certwright/pki';
import { type ReadMembers, unknownMemberFaults } from '@certwright/service';
import { defaultProduct, modifiedOrder, type Order, type OrderPatch } from './order';
import type { OrderRequest } from './order-request';
import { OrderCheck, type OrderContext, type OrderReading } from './order-rules';

/** `order` is valid only when there is no fault. */
export interface OrderDraft {
  readonly order: Order;
  /** Everything that is wrong, at once. */
  readonly faults: readonly FieldFault[];
}

/** A new order: what was left out gets its default. */
export function draftOrder(request: ReadMembers<OrderRequest>, context: OrderContext): OrderDraft {
  const reading = readingOf(request);
  const { patch, csr } = reading;
  const { dnsNames = [] } = patch;
  const order: Order = {
    name: dnsNames[0] ?? '',
    dnsNames,
    approverEmails: {},
    cluster: null,
    autoRenew: true,
    muted: false,
    paused: false,
    product: defaultProduct,
    keyType: csr?.keyType ?? 'rsa',
    csr: null,
    ...patch,
  };
  const check = new OrderCheck(reading, context, order, null);
  return { order, faults: [...reading.faults, ...check.faults(), ...unknownMemberFaults(request)] };
}

/** A modified order: what was left out keeps its value, unless a rule resets it. */
export function draftModification(
  before: Order,
  request: ReadMembers<OrderRequest>,
  context: OrderContext,
): OrderDraft {
  const reading = readingOf(request);
  const { patch } = reading;
  const product = context.products.get(patch.product ?? before.product);
  const order = modifiedOrder(before, patch, {
    namesEveryDnsName: product?.csrNamesEveryDnsName ?? false,
    emailApproval: product?.emailApproval ?? true,
    existingCsr: (after) => before.csr === null || fitsProduct(before.csr.der, after, product),
  });
  const check = new OrderCheck(reading, context, order, before);
  return { order, faults: [...reading.faults, ...check.faults(), ...unknownMemberFaults(request)] };
}

/** A compromised key is allowed here: the order keeps such a CSR, and no certificate is issued from it. */
function fitsProduct(der: Uint8Array, after: Omit<Order, 'csr'>, product: Product | undefined): boolean {
  if (product === undefined) return true;
  const { keyType, dnsNames } = after;
  const reading = readCsr(der);
  const rule = { mustNameEveryDnsName: product.csrNamesEveryDnsName, keys: product };
  return reading.ok && checkCsr(reading.csr, { keyType, dnsNames, rule }, { keyBlocked: false }).length === 0;
}

/** A request in the terms of the order that it creates or modifies. */
function readingOf({ value, faults }: ReadMembers<OrderRequest>): OrderReading {
  const { csr } = value;
  const patch: { readonly [M in keyof Order]: Order[M] | undefined } = {
    name: value.name,
    dnsNames: value.dns_names,
    approverEmails: value.approver_emails,
    cluster: value.cluster,
    autoRenew: value.auto_renew,
    muted: value.muted,
    paused: value.paused,
    product: value.product,
    keyType: value.key_type,
    csr: csr && { der: csr.der, spkiSha256: csr.spkiSha256 },
  };
  const sent = Object.entries(patch).filter(([, each]) => each !== undefined);
  return { patch: Object.fromEntries(sent) as OrderPatch, csr: csr?.content ?? null, faults };
}
