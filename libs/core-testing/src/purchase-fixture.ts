import { randomBytes, randomInt } from 'node:crypto';
import type { Product } from '@certwright/issuance';
import type { DataSource } from 'typeorm';
import { Issuances } from '@certwright/ordering';
import { Mails } from '@certwright/delivery';
import { Outbox } from '@certwright/core-schema';
import { ProductEntity } from '@certwright/core-schema';
import { CoreDatabaseFixture } from './core-database';
import { Ledger } from '@certwright/billing';
import { Purchases, type PurchaseTerms } from '@certwright/ordering';

/** What is bought of a plan. */
export interface Buying extends PurchaseTerms {
  /** Left out: those that the plan has. */
  readonly dnsNames?: readonly string[];
  readonly product?: string;
}

export interface PaidRow {
  readonly paid_through: Date | null;
  readonly paid_product: string | null;
  readonly paid_names: number;
  readonly paid_wildcards: number;
}

/** A term of `paid_ca` costs 10.00 a name and 50.00 a wildcard. */
export const prices = { name: 1_000, wildcard: 5_000 };

/** Purchases over a spec's database, and short ways to fill it. */
export class PurchaseFixture {
  readonly purchases: Purchases;
  readonly ledger: Ledger;

  private constructor(readonly core: CoreDatabaseFixture) {
    this.purchases = purchasesOver(core.database);
    this.ledger = new Ledger(core.database);
  }

  static async open(): Promise<PurchaseFixture> {
    const core = await CoreDatabaseFixture.open();
    await core.database.query(
      `UPDATE product SET price_cents = $1, wildcard_price_cents = $2, available = true WHERE name <> 'free_ca'`,
      [prices.name, prices.wildcard],
    );
    return new PurchaseFixture(core);
  }

  /** @param cents on the account; 0: it never had money */
  async account(cents: number): Promise<string> {
    const id = await this.core.account(String(randomInt(1, 2 ** 47)));
    if (cents !== 0) await this.credit(id, cents);
    return id;
  }

  async credit(accountId: string, cents: number): Promise<void> {
    const booking = { accountId, kind: 'payment', cents, currency: 'USD', note: 'spec' } as const;
    await this.core.transactions.run(async (tx) => await this.ledger.book(tx, booking));
  }

  async product(name: string): Promise<Product> {
    return await this.core.database.getRepository(ProductEntity).findOneByOrFail({ name });
  }

  async plan(accountId: string, dnsNames: readonly string[], product = 'paid_ca'): Promise<string> {
    return await this.core.transactions.run(async (tx) => {
      const downloadToken = randomBytes(20).toString('base64url');
      const flags = { autoRenew: true, muted: false, paused: false };
      const planId = await this.core.plans.create(tx, { accountId, downloadToken, ...flags });
      await this.core.plans.setTerms(tx, planId, termsFor(dnsNames, product));
      return planId;
    });
  }

  /** What an API does: holds the plan, stores changed terms, opens. @returns the issuance's id */
  async buy(planId: string, buying: Buying, purchases = this.purchases): Promise<string> {
    // Before the transaction: one that waits for a second connection may wait for itself.
    const products = await this.core.database.getRepository(ProductEntity).find();
    return await this.core.transactions.run(async (tx) => {
      const [[plan]] = await tx.query<[[{ account_id: string; terms_id: string; revision: number }], number]>(
        `UPDATE plan SET revision = revision + 1 WHERE id = $1 RETURNING account_id, terms_id, revision`,
        [planId],
      );
      const [terms] = await tx.query<[{ dns_names: string[]; product: string }]>(
        `SELECT dns_names, product FROM terms WHERE id = $1`,
        [plan.terms_id],
      );
      const { dnsNames = terms.dns_names, product: name = terms.product, ...kind } = buying;
      const product = products.find((each) => each.name === name);
      if (product === undefined) throw new Error(`there is no product ${name}`);
      const isChanged = buying.dnsNames !== undefined || buying.product !== undefined;
      const termsId = isChanged
        ? await this.core.plans.setTerms(tx, planId, termsFor(dnsNames, name))
        : plan.terms_id;
      const opening = { planId, accountId: plan.account_id, revision: plan.revision, settlingMs: 0 };
      const { issuanceId } = await purchases.open(tx, { ...opening, termsId, dnsNames, product }, kind);
      return issuanceId;
    });
  }

  /** The plan's open issuance ends without a certificate. */
  async end(planId: string, state: 'canceled' | 'failed' = 'failed'): Promise<void> {
    await this.core.database.query(
      `UPDATE issuance SET state = $2, closed_at = now() WHERE plan_id = $1 AND state = 'open'`,
      [planId, state],
    );
  }

  async paidOf(planId: string): Promise<PaidRow> {
    const [row] = await this.core.database.query<[PaidRow]>(
      `SELECT paid_through, paid_product, paid_names, paid_wildcards FROM plan WHERE id = $1`,
      [planId],
    );
    return row;
  }

  async balanceOf(accountId: string): Promise<number> {
    const rows: { balance_cents: string }[] = await this.core.database.query(
      `SELECT balance_cents FROM account_balance WHERE account_id = $1`,
      [accountId],
    );
    return Number(rows[0]?.balance_cents ?? 0);
  }

  async count(select: string, ...parameters: readonly unknown[]): Promise<number> {
    const [row] = await this.core.database.query<[{ count: number }]>(
      `SELECT count(*)::int AS count ${select}`,
      [...parameters],
    );
    return row.count;
  }
}

export function purchasesOver(database: DataSource): Purchases {
  return new Purchases(database, new Issuances(database, new Outbox(database)), new Mails(database));
}

export const nothingPaid: PaidRow = {
  paid_through: null,
  paid_product: null,
  paid_names: 0,
  paid_wildcards: 0,
};

function termsFor(dnsNames: readonly string[], product: string) {
  const key = { keyType: 'ecdsa', csr: randomBytes(8), spkiSha256: randomBytes(32) } as const;
  return { product, dnsNames, approverEmails: {}, ...key };
}
