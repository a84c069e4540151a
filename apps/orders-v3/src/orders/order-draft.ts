import type { Product } from '@certwright/issuance';
import { judgeCsr, readCsr } from '@certwright/pki';
import { modifiedOrder, type Order } from './order';
import { Judgement, type OrderFacts, type OrderFault, type OrderReading } from './order-rules';

/** Nothing is charged by omission. */
export const defaultProduct = 'free_ca';

/** `order` counts only when there is no fault. */
export interface OrderDraft {
  readonly order: Order;
  /** Everything that is wrong, at once. */
  readonly faults: readonly OrderFault[];
}

/** A new order: what was left out gets its default. */
export function draftOrder(reading: OrderReading, facts: OrderFacts): OrderDraft {
  const { wishes, csr } = reading;
  const { dnsNames = [] } = wishes;
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
    ...wishes,
  };
  return { order, faults: [...reading.faults, ...new Judgement(reading, facts, order, null).faults()] };
}

/** A modified order: what was left out keeps its value, unless a rule resets it. */
export function draftModification(before: Order, reading: OrderReading, facts: OrderFacts): OrderDraft {
  const { wishes } = reading;
  const product = facts.products.get(wishes.product ?? before.product);
  const order = modifiedOrder(before, wishes, {
    namesEveryDnsName: product?.csrNamesEveryDnsName ?? false,
    emailApproval: product?.emailApproval ?? true,
    existingCsr: (after) => before.csr === null || fitsProduct(before.csr.der, after, product),
  });
  return { order, faults: [...reading.faults, ...new Judgement(reading, facts, order, before).faults()] };
}

/** That its key is compromised is no matter of the product: the order keeps such a CSR, and nothing is issued from it. */
function fitsProduct(der: Uint8Array, after: Omit<Order, 'csr'>, product: Product | undefined): boolean {
  if (product === undefined) return true;
  const { keyType, dnsNames } = after;
  const reading = readCsr(der);
  const rule = { mustNameEveryDnsName: product.csrNamesEveryDnsName, keys: product };
  return reading.ok && judgeCsr(reading.csr, { keyType, dnsNames, rule }, { keyBlocked: false }).length === 0;
}
