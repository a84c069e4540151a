import {
  canHaveApprovalRecord,
  isConstructedApproverAddress,
  isWildcard,
  maxLengthOfApprovedByDns,
  quoteInput,
} from '@certwright/dns-names';
import type { FieldFault } from '@certwright/errors';
import type { Product } from '@certwright/issuance';
import { type Csr, checkCsr } from '@certwright/pki';
import { csrFaults } from '../wire/outcome-messages';
import { type Order, orderProducts, type OrderPatch } from './order';
import type { OrderRequest } from './order-request';

export interface OrderFault extends FieldFault {
  readonly field: keyof OrderRequest;
}

/** A request, as far as it could be read. */
export interface OrderReading {
  /** Without the members that have a fault. */
  readonly patch: OrderPatch;
  /** The CSR of the patch, decoded but not yet checked. */
  readonly csr: Csr | null;
  readonly faults: readonly FieldFault[];
}

/** Inputs of the rules from the database. */
export interface OrderContext {
  readonly products: ReadonlyMap<string, Product>;
  /** The account has the cluster of the request, or the request names none. */
  readonly clusterExists: boolean;
  /** The key of the CSR that was sent is known to be compromised. */
  readonly keyBlocked: boolean;
}

export const unknownCluster: OrderFault = {
  field: 'cluster',
  code: 'unknown_cluster',
  message: 'There is no cluster of this name in the account.',
};

/**
 * The rules that need more than one member, or the database. A rule is skipped when one of its members has a fault: each
 * mistake is reported once.
 */
export class OrderCheck {
  private readonly atFault: ReadonlySet<OrderFault['field']>;
  /** Undefined: there is no such product. */
  private readonly product: Product | undefined;

  constructor(
    private readonly reading: OrderReading,
    private readonly context: OrderContext,
    private readonly order: Order,
    private readonly before: Order | null,
  ) {
    this.atFault = new Set(reading.faults.map(({ field }) => field as OrderFault['field']));
    this.product = context.products.get(order.product);
  }

  faults(): OrderFault[] {
    return [
      ...this.name(),
      ...this.dnsNames(),
      ...this.productItself(),
      ...this.approvers(),
      ...this.cluster(),
      ...this.keyType(),
      ...this.csr(),
    ];
  }

  private *name(): Generator<OrderFault> {
    const { before, order } = this;
    if (before === null || order.name === before.name) return;
    yield {
      field: 'name',
      code: 'immutable_field',
      message: 'The name of an order cannot change after its creation.',
    };
  }

  private *dnsNames(): Generator<OrderFault> {
    if (this.atFault.has('dns_names')) return;
    const { dnsNames } = this.order;
    if (dnsNames.length === 0) {
      yield { field: 'dns_names', code: 'missing_field', message: 'An order needs at least one DNS name.' };
    }
    if (this.product !== undefined && dnsNames.length > this.product.maxDnsNames && !this.keepsNames()) {
      const { name, maxDnsNames } = this.product;
      const message = `${name} allows ${maxDnsNames} DNS names at most; the order would have ${dnsNames.length}.`;
      yield { field: 'dns_names', code: 'too_many_names', message };
    }
    yield* this.approvable();
  }

  /** The product may have allowed more names when the order got them. */
  private keepsNames(): boolean {
    const { before, order } = this;
    const known = new Set(before?.dnsNames);
    return before?.product === order.product && order.dnsNames.every((name) => known.has(name));
  }

  /** A name that is too long for approval by DNS needs another way. Those that an order has already stay manageable. */
  private *approvable(): Generator<OrderFault> {
    const { atFault, before, order, product } = this;
    if (product === undefined || atFault.has('product') || atFault.has('approver_emails')) return;
    for (const dnsName of order.dnsNames) {
      if (canHaveApprovalRecord(dnsName) || before?.dnsNames.includes(dnsName) === true) continue;
      const byRule = product.httpApproval && !isWildcard(dnsName);
      const byEmail = product.emailApproval && Object.hasOwn(order.approverEmails, dnsName);
      if (byRule || byEmail) continue;
      const message =
        `${quoteInput(dnsName)} is longer than ${maxLengthOfApprovedByDns} bytes without "*.", the maximum for approval by ` +
        `DNS. Use a shorter name${product.emailApproval ? ', or name an address for it in approver_emails' : ''}.`;
      yield { field: 'dns_names', code: 'invalid_dns_name', message };
    }
  }

  private *productItself(): Generator<OrderFault> {
    const { atFault, before, order, product, context } = this;
    if (atFault.has('product')) return;
    const isChosen = before?.product !== order.product;
    if (product === undefined || (isChosen && !orderProducts.includes(order.product))) {
      const known = orderProducts.filter((name) => context.products.has(name)).join(', ');
      yield {
        field: 'product',
        code: 'invalid_value',
        message: `There is no such product; available: ${known}.`,
      };
    } else if (isChosen && !product.available) {
      const message = `${product.name} cannot be ordered at present.`;
      yield { field: 'product', code: 'product_unavailable', message };
    }
  }

  private *approvers(): Generator<OrderFault> {
    const { atFault, order, product } = this;
    const approvers = Object.entries(order.approverEmails);
    if (atFault.has('approver_emails') || approvers.length === 0) return;
    if (product !== undefined && !product.emailApproval) {
      const message = `${product.name} does not support approval by email; leave approver_emails out.`;
      yield { field: 'approver_emails', code: 'email_not_supported', message };
      return;
    }
    for (const [dnsName, address] of approvers) {
      if (!atFault.has('dns_names') && !order.dnsNames.includes(dnsName)) {
        const message = `${quoteInput(dnsName)} is not one of the order's DNS names.`;
        yield { field: 'approver_emails', code: 'invalid_approver', message };
      } else if (!isConstructedApproverAddress(dnsName, address)) {
        const message =
          `${quoteInput(address)} may not approve ${dnsName}: only admin, administrator, hostmaster, postmaster and ` +
          'webmaster may, at the name or at a parent down to its registered domain.';
        yield { field: 'approver_emails', code: 'invalid_approver', message };
      }
    }
  }

  private *cluster(): Generator<OrderFault> {
    if (this.atFault.has('cluster') || this.context.clusterExists) return;
    yield unknownCluster;
  }

  /** The key of a CSR is checked with the CSR. Without a CSR, the caller learns it before generating a key. */
  private *keyType(): Generator<OrderFault> {
    const { atFault, before, order, product, reading } = this;
    if (atFault.has('key_type') || atFault.has('csr') || reading.csr !== null || product === undefined)
      return;
    if (before?.keyType === order.keyType && before.product === order.product) return;
    const taken = { rsa: product.rsaSizes.length > 0, ecdsa: product.curves.length > 0 };
    if (taken[order.keyType]) return;
    const message = `${product.name} takes no ${order.keyType} keys; choose another key_type.`;
    yield { field: 'key_type', code: 'unsupported_key_type', message };
  }

  private *csr(): Generator<OrderFault> {
    const { atFault, before, order, reading } = this;
    if (atFault.has('csr') || atFault.has('cluster')) return;
    const managed = order.cluster !== null;
    if (reading.csr !== null) {
      if (managed) yield csrNotAllowed;
      else yield* this.givenCsr(reading.csr);
    } else if (before === null) {
      if (!managed) yield csrRequired;
    } else if (reading.patch.csr === null && order.csr !== null) {
      yield managed ? csrNotAllowed : csrRequired;
    }
  }

  /** Only the key is checked while the names or the product have a fault. */
  private *givenCsr(csr: Csr): Generator<OrderFault> {
    const { atFault, context, order, product } = this;
    const mustNameEveryDnsName =
      !atFault.has('dns_names') && order.dnsNames.length > 0 && (product?.csrNamesEveryDnsName ?? false);
    const keyType = atFault.has('key_type') ? undefined : order.keyType;
    const rule = { mustNameEveryDnsName, keys: product };
    const expectations = { keyType, dnsNames: order.dnsNames, rule };
    const faults = checkCsr(csr, expectations, { keyBlocked: context.keyBlocked });
    for (const { code, message } of csrFaults(faults)) {
      yield { field: 'csr', code, message };
    }
  }
}

const csrRequired: OrderFault = {
  field: 'csr',
  code: 'csr_required',
  message: 'An order without a cluster needs a CSR from its caller.',
};

const csrNotAllowed: OrderFault = {
  field: 'csr',
  code: 'csr_not_allowed',
  message: 'The agents of the cluster create the CSR of this order; leave csr out.',
};
