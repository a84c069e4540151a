import { isConstructedApproverAddress, quoteInput } from '@certwright/dns-names';
import type { FieldFaultCode } from '@certwright/errors';
import type { Product } from '@certwright/issuance';
import { type Csr, judgeCsr } from '@certwright/pki';
import { csrFaults } from '../wire/outcome-messages';
import type { Order, OrderWishes } from './order';

export interface OrderFault {
  readonly member: keyof Order;
  readonly code: FieldFaultCode;
  readonly message: string;
}

/** What was asked for, as far as it could be read. A member that is at fault is not among the wishes. */
export interface OrderReading {
  readonly wishes: OrderWishes;
  /** The CSR among the wishes, read but not yet judged. */
  readonly csr: Csr | null;
  readonly faults: readonly OrderFault[];
}

/** What had to be looked up. */
export interface OrderFacts {
  readonly products: ReadonlyMap<string, Product>;
  /** Whether the account has the cluster that was asked for; true when none was. */
  readonly clusterExists: boolean;
  /** The key of the CSR that was sent is known to be compromised. */
  readonly keyBlocked: boolean;
}

/**
 * The rules that need more than one member, or a fact. A rule whose members are at fault already stays silent: each
 * mistake is told once.
 */
export class Judgement {
  private readonly atFault: ReadonlySet<keyof Order>;
  /** Undefined: there is no such product. */
  private readonly product: Product | undefined;

  constructor(
    private readonly reading: OrderReading,
    private readonly facts: OrderFacts,
    private readonly order: Order,
    private readonly before: Order | null,
  ) {
    this.atFault = new Set(reading.faults.map(({ member }) => member));
    this.product = facts.products.get(order.product);
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
      member: 'name',
      code: 'immutable_field',
      message: 'The name of an order cannot change after its creation.',
    };
  }

  private *dnsNames(): Generator<OrderFault> {
    if (this.atFault.has('dnsNames')) return;
    const { dnsNames } = this.order;
    if (dnsNames.length === 0) {
      yield { member: 'dnsNames', code: 'missing_field', message: 'An order needs at least one DNS name.' };
    }
    if (this.product !== undefined && dnsNames.length > this.product.maxDnsNames) {
      const { name, maxDnsNames } = this.product;
      const message = `${name} allows ${maxDnsNames} DNS names at most; the order would have ${dnsNames.length}.`;
      yield { member: 'dnsNames', code: 'too_many_names', message };
    }
  }

  private *productItself(): Generator<OrderFault> {
    const { atFault, before, order, product, facts } = this;
    if (atFault.has('product')) return;
    if (product === undefined) {
      const known = [...facts.products.keys()].sort().join(', ');
      yield {
        member: 'product',
        code: 'invalid_value',
        message: `There is no such product; there are: ${known}.`,
      };
    } else if (!product.available && before?.product !== order.product) {
      const message = `${product.name} cannot be ordered at present.`;
      yield { member: 'product', code: 'product_unavailable', message };
    }
  }

  private *approvers(): Generator<OrderFault> {
    const { atFault, order, product } = this;
    const approvers = Object.entries(order.approverEmails);
    if (atFault.has('approverEmails') || approvers.length === 0) return;
    if (product !== undefined && !product.emailApproval) {
      const message = `${product.name} does not support approval by email; leave approver_emails out.`;
      yield { member: 'approverEmails', code: 'email_not_supported', message };
      return;
    }
    for (const [dnsName, address] of approvers) {
      if (!atFault.has('dnsNames') && !order.dnsNames.includes(dnsName)) {
        const message = `${quoteInput(dnsName)} is not one of the order's DNS names.`;
        yield { member: 'approverEmails', code: 'invalid_approver', message };
      } else if (!isConstructedApproverAddress(dnsName, address)) {
        const message =
          `${quoteInput(address)} may not approve ${dnsName}: only admin, administrator, hostmaster, postmaster and ` +
          'webmaster may, at the name or at a parent down to its registered domain.';
        yield { member: 'approverEmails', code: 'invalid_approver', message };
      }
    }
  }

  private *cluster(): Generator<OrderFault> {
    if (this.atFault.has('cluster') || this.facts.clusterExists) return;
    yield {
      member: 'cluster',
      code: 'unknown_cluster',
      message: 'There is no cluster of this name in the account.',
    };
  }

  /** A CSR that was sent speaks for itself; without one, nobody should make a key in vain. */
  private *keyType(): Generator<OrderFault> {
    const { atFault, before, order, product, reading } = this;
    if (atFault.has('keyType') || atFault.has('csr') || reading.csr !== null || product === undefined) return;
    if (before?.keyType === order.keyType && before.product === order.product) return;
    const taken = { rsa: product.rsaSizes.length > 0, ecdsa: product.curves.length > 0 };
    if (taken[order.keyType]) return;
    const message = `${product.name} takes no ${order.keyType} keys; choose another key_type.`;
    yield { member: 'keyType', code: 'unsupported_key_type', message };
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
    } else if (reading.wishes.csr === null && order.csr !== null) {
      yield managed ? csrNotAllowed : csrRequired;
    }
  }

  /** While the names or the product are in doubt, only the key is looked at. */
  private *givenCsr(csr: Csr): Generator<OrderFault> {
    const { atFault, facts, order, product } = this;
    const mustNameEveryDnsName =
      !atFault.has('dnsNames') && order.dnsNames.length > 0 && (product?.csrNamesEveryDnsName ?? false);
    const keyType = atFault.has('keyType') ? undefined : order.keyType;
    const rule = { mustNameEveryDnsName, keys: product };
    const expectations = { keyType, dnsNames: order.dnsNames, rule };
    const faults = judgeCsr(csr, expectations, { keyBlocked: facts.keyBlocked });
    for (const { code, message } of csrFaults(faults)) {
      yield { member: 'csr', code, message };
    }
  }
}

const csrRequired: OrderFault = {
  member: 'csr',
  code: 'csr_required',
  message: 'An order without a cluster needs a CSR from its caller.',
};

const csrNotAllowed: OrderFault = {
  member: 'csr',
  code: 'csr_not_allowed',
  message: 'The agents of the cluster make the CSR of this order; leave csr out.',
};
