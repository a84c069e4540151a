import { randomBytes } from 'node:crypto';
import { testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { coreDataSource } from '@certwright/core-schema';
import { Delegations } from '@certwright/approvals';
import { IssuanceWakeUps } from '@certwright/approvals';
import { Issuances } from '@certwright/ordering';
import { LeasedIssuances } from '@certwright/ordering';
import { Outbox } from '@certwright/core-schema';
import { Plans } from '@certwright/ordering';
import { Transactions } from '@certwright/core-schema';

/** A migrated database of its own for one spec, and what is needed to put a plan with terms into it. */
export class CoreDatabaseFixture {
  readonly transactions: Transactions;
  readonly plans = new Plans();
  readonly outbox: Outbox;
  readonly issuances: Issuances;
  readonly wakeUps: IssuanceWakeUps;
  readonly leased: LeasedIssuances;
  readonly delegations: Delegations;

  private constructor(
    readonly database: DataSource,
    readonly url: string,
    /** With the grants that the process has in production. */
    readonly urlOf: (process: string) => string,
    readonly close: () => Promise<void>,
  ) {
    this.transactions = new Transactions(database);
    this.outbox = new Outbox(database);
    this.issuances = new Issuances(database, this.outbox);
    this.wakeUps = new IssuanceWakeUps(database, this.outbox);
    this.leased = new LeasedIssuances(database);
    this.delegations = new Delegations(database);
  }

  static async open(): Promise<CoreDatabaseFixture> {
    const { url, urlOf, dispose } = await testDatabase();
    const database = coreDataSource({
      url,
      applicationName: 'spec',
      poolSize: 10,
      statementTimeoutMs: 10_000,
    });
    await database.initialize();
    const close = async () => {
      await database.destroy();
      await dispose();
    };
    return new CoreDatabaseFixture(database, url, urlOf, close);
  }

  async account(id: string): Promise<string> {
    await this.database.query(`INSERT INTO account (id, name) VALUES ($1, 'Spec') ON CONFLICT DO NOTHING`, [
      id,
    ]);
    return id;
  }

  /** A plan with terms for the names, and no issuance yet. */
  async plan(
    accountId: string,
    dnsNames: readonly string[],
  ): Promise<{ readonly planId: string; readonly termsId: string }> {
    return await this.transactions.run(async (tx) => {
      const downloadToken = randomBytes(20).toString('base64url');
      const flags = { autoRenew: true, muted: false, paused: false };
      const planId = await this.plans.create(tx, { accountId, downloadToken, ...flags });
      const key = { keyType: 'ecdsa', csr: randomBytes(8), spkiSha256: randomBytes(32) } as const;
      const termsId = await this.plans.setTerms(tx, planId, {
        product: 'free_ca',
        dnsNames,
        approverEmails: {},
        ...key,
      });
      return { planId, termsId };
    });
  }
}
