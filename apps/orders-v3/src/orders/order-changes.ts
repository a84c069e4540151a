import { randomBytes } from 'node:crypto';
import { baseName } from '@certwright/dns-names';
import { Certificates, Delegations, Issuances, type Tx } from '@certwright/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { OrdersConfig } from '../config';
import { consequencesOf, type Order, sameNames, type StoredOrder } from './order';
import { OrdersRepository } from './orders.repository';
import { secretBytes, secretLabel } from './secret-label';

/** What making or modifying an order does besides its row, all in the caller's transaction. */
@Injectable()
export class OrderChanges {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly issuances: Issuances,
    private readonly certificates: Certificates,
    private readonly delegations: Delegations,
    @Inject(OrdersConfig) private readonly config: Pick<OrdersConfig, 'SETTLING_MS'>,
  ) {}

  async create(tx: Tx, accountId: string, order: Order): Promise<StoredOrder> {
    const stored = await this.orders.insert(
      tx,
      accountId,
      order,
      randomBytes(secretBytes).toString('base64url'),
    );
    await this.ensureLabels(tx, stored);
    if (!stored.paused) await this.open(tx, stored, 0);
    return stored;
  }

  /** The caller holds the rows of `before`. */
  async modify(tx: Tx, before: StoredOrder, after: Order): Promise<StoredOrder> {
    const consequences = consequencesOf(before, after);
    if (consequences === null) {
      // Whoever posts an order unchanged asks for a look: an approval that waits for its next check is checked now.
      await this.issuances.hasten(tx, before.planId);
      return before;
    }
    const stored = await this.orders.modify(tx, before, after, consequences.terms);
    if (!sameNames(before.dnsNames, stored.dnsNames)) await this.ensureLabels(tx, stored);
    if (consequences.terms !== 'keep') {
      const { dnsNames, csr } = stored;
      await this.certificates.reselectCurrent(tx, stored.planId, {
        dnsNames,
        spkiSha256: csr?.spkiSha256 ?? null,
      });
    }
    if (consequences.issuance === 'open') await this.open(tx, stored, this.config.SETTLING_MS);
    else await this.issuances.closeOpen(tx, stored.planId, 'superseded');
    return stored;
  }

  /** The label that each name's standing record points to; a name that the account never had gets a fresh one. */
  private async ensureLabels(tx: Tx, { accountId, dnsNames }: StoredOrder): Promise<void> {
    const names = [...new Set(dnsNames.map(baseName))];
    await this.delegations.ensure(tx, accountId, names, () => secretLabel(randomBytes(secretBytes)));
  }

  private async open(tx: Tx, order: StoredOrder, settlingMs: number): Promise<void> {
    const { planId, accountId, revision, termsId, dnsNames } = order;
    if (termsId === null) return;
    await this.issuances.open(tx, { planId, accountId, revision, termsId, dnsNames, settlingMs });
  }
}
