import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ApprovalRecords, Delegations } from '@certwright/approvals';
import { Attachments, Issuances, LeasedIssuances, Plans } from '@certwright/ordering';
import { CaSignings } from '../certificate-authorities/built-in/ca-signings';
import { coreDataSource, Outbox, Transactions } from '@certwright/core-schema';
import { RevocationLists } from '../certificate-authorities/built-in/revocation-lists';
import { testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import type { Approver } from '../approvals/approver';
import { PublishApprovals } from '../approvals/publish-approvals';
import { BuiltInCa } from '../certificate-authorities/built-in/built-in-ca';
import { KeyFiles } from '../certificate-authorities/built-in/keys/key-files';
import { AdvanceIssuance, type AdvancePorts } from '../issuance/advance-issuance';
import { openBuiltInCa, type OpenedCa } from './built-in-ca';
import { openIssuance, type OpenedIssuance, type Repositories } from './opened-issuance';
import { soleIssuer } from './sole-issuer';

const approvalReuseMs = 86_400_000;

/** Approves every name. */
const approver: Approver = {
  method: 'dns',
  placeOf: ({ dnsName }) => dnsName,
  check: async () => await Promise.resolve({ approved: true }),
};

/** A real database, the built-in CA with its own keys, and the functions that issue certificates. */
export class Issuing {
  readonly repositories: Repositories;
  private nextCertificateId = 1;

  private constructor(
    /** Connection of the test, with all rights. */
    readonly database: DataSource,
    /** Connection of the worker, with the grants of its role. */
    readonly asWorker: DataSource,
    readonly keyFolder: string,
    private readonly opened: OpenedCa,
    readonly databaseUrl: string,
    readonly close: () => Promise<void>,
  ) {
    this.repositories = {
      transactions: new Transactions(database),
      plans: new Plans(),
      issuances: new Issuances(database, new Outbox(database)),
      delegations: new Delegations(database),
    };
  }

  static async open(): Promise<Issuing> {
    const test = await testDatabase();
    const databaseUrl = test.urlOf('issuance-worker');
    const [database, asWorker] = await Promise.all(
      [test.url, databaseUrl].map(
        async (url) =>
          await coreDataSource({
            url,
            applicationName: 'spec',
            poolSize: 20,
            statementTimeoutMs: 10_000,
          }).initialize(),
      ),
    );
    if (database === undefined || asWorker === undefined) throw new Error('both were opened');
    const keyFolder = mkdtempSync(path.join(tmpdir(), 'certwright-ca-'));
    const close = async () => {
      await Promise.all([database.destroy(), asWorker.destroy()]);
      await test.dispose();
      rmSync(keyFolder, { recursive: true });
    };
    const opened = await openBuiltInCa({ owner: database, worker: asWorker, keys: new KeyFiles(keyFolder) });
    return new Issuing(database, asWorker, keyFolder, opened, databaseUrl, close);
  }

  get ca(): BuiltInCa {
    return this.opened.ca;
  }

  /** The same CA over another connection. */
  caOver(source: DataSource): BuiltInCa {
    return new BuiltInCa(this.opened.intermediates, new CaSignings(source), new RevocationLists(source));
  }

  worker(): AdvanceIssuance {
    return new AdvanceIssuance(this.ports());
  }

  /** The worker's dependencies, for tests that replace some of them. */
  ports(): AdvancePorts {
    const transactions = new Transactions(this.asWorker);
    return {
      leasedIssuances: new LeasedIssuances(this.asWorker),
      attachments: new Attachments(transactions),
      approvers: [approver],
      publishing: new PublishApprovals(new ApprovalRecords(this.asWorker, transactions), 'unused', false),
      approvalReuseMs,
      issuers: soleIssuer(this.ca),
      events: {
        changed: () => undefined,
        attached: () => undefined,
        failed: () => undefined,
        resting: () => undefined,
        leaseLost: () => undefined,
        unexpectedError: () => undefined,
      },
      certificateId: () => String(this.nextCertificateId++),
    };
  }

  /** A plan with a certificate of the built-in CA. */
  async issued(
    dnsNames: readonly string[],
    csr: Buffer,
  ): Promise<OpenedIssuance & { readonly certificateId: string }> {
    const opened = await openIssuance(this.repositories, dnsNames, csr);
    await this.worker().run(opened.issuanceId);
    const [row]: { id: string }[] = await this.database.query(
      `SELECT id FROM certificate WHERE issuance_id = $1`,
      [opened.issuanceId],
    );
    if (row === undefined) throw new Error('an approved issuance is issued');
    return { ...opened, certificateId: row.id };
  }
}
