import { randomBytes, randomInt } from 'node:crypto';
import { claimDeployment, coreDataSource, Transactions, Outbox } from '@certwright/core-schema';
import { Plans } from '@certwright/ordering';
import { EmailApprovals, IssuanceWakeUps } from '@certwright/approvals';
import { LeasedDeliveries } from '../webhooks/leased-deliveries';
import { LeasedMails } from '../mail/leased-mails';
import { Mails, type NewMail, WebhookDeliveries, WebhookEndpoints, WebhookLog } from '@certwright/delivery';
import { SealingKeys } from '@certwright/sealing';
import { testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';

/** A separate migrated database for one test file, with functions for endpoints, deliveries and mails. */
export class NotifierDatabase {
  readonly sealingKey = randomBytes(32);
  readonly sealing = new SealingKeys([this.sealingKey]);
  readonly transactions: Transactions;
  readonly endpoints: WebhookEndpoints;
  readonly deliveries: WebhookDeliveries;
  readonly leasedDeliveries: LeasedDeliveries;
  readonly log: WebhookLog;
  /** Actions of other processes on mails: request them, and follow their links. */
  readonly approvals: EmailApprovals;
  readonly mails: Mails;
  readonly leasedMails: LeasedMails;

  private constructor(
    /** Connection of the test, with all rights. */
    readonly database: DataSource,
    /** Connection of the notifier, with the grants of its role. */
    readonly asNotifier: DataSource,
    readonly roleUrl: string,
    readonly close: () => Promise<void>,
  ) {
    this.transactions = new Transactions(database);
    this.endpoints = new WebhookEndpoints(database);
    this.deliveries = new WebhookDeliveries(database);
    this.mails = new Mails(database);
    this.leasedMails = new LeasedMails(asNotifier);
    this.leasedDeliveries = new LeasedDeliveries(
      asNotifier,
      new Transactions(asNotifier),
      new Mails(asNotifier),
    );
    this.log = new WebhookLog(database);
    const wakeUps = new IssuanceWakeUps(database, new Outbox(database));
    this.approvals = new EmailApprovals(database, this.transactions, this.mails, wakeUps);
  }

  static async open(): Promise<NotifierDatabase> {
    const { url, urlOf, dispose } = await testDatabase();
    const settings = { applicationName: 'spec', poolSize: 10, statementTimeoutMs: 10_000 };
    const roleUrl = urlOf('notifier');
    const database = await coreDataSource({ url, ...settings }).initialize();
    await claimDeployment(database, 'sandbox');
    const asNotifier = await coreDataSource({ url: roleUrl, ...settings }).initialize();
    return new NotifierDatabase(database, asNotifier, roleUrl, async () => {
      await Promise.all([database.destroy(), asNotifier.destroy()]);
      await dispose();
    });
  }

  async account(name = 'Spec & Söhne'): Promise<string> {
    const id = String(randomInt(1, 2 ** 47));
    await this.database.query(
      `INSERT INTO account (id, name, contact_email) VALUES ($1, $2, 'ops@example.com')`,
      [id, name],
    );
    return id;
  }

  /** @returns the id of an endpoint and its secret */
  async endpoint(accountId: string, url: string, credentials: string | null = null) {
    const id = String(randomInt(1, 2 ** 47));
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const seal = (text: string, what: string) =>
      this.sealing.seal(text, `webhook-endpoint:${id}:${what}`, randomBytes(12));
    const endpoint = {
      id,
      accountId,
      url,
      credentialsSealed: credentials === null ? null : seal(credentials, 'credentials'),
      secretSealed: seal(secret, 'secret'),
      description: 'spec',
      enabled: true,
    };
    await this.transactions.run(async (tx) => await this.endpoints.create(tx, endpoint));
    return { id, secret };
  }

  async plan(accountId: string): Promise<string> {
    const downloadToken = randomBytes(20).toString('base64url');
    return await this.transactions.run(
      async (tx) =>
        await new Plans().create(tx, {
          accountId,
          downloadToken,
          autoRenew: true,
          muted: false,
          paused: false,
        }),
    );
  }

  /** @returns the id of the delivery */
  async deliver(
    accountId: string,
    endpointId: string,
    planId: string,
    body = '{"name":"a"}',
  ): Promise<string> {
    const deliveryId = `msg_${randomBytes(20).toString('base64url')}`;
    const delivery = { deliveryId, endpointId, accountId, planId, version: 1, event: 'spec', body };
    await this.transactions.run(async (tx) => await this.deliveries.enqueue(tx, delivery));
    return deliveryId;
  }

  async mail(mail: NewMail): Promise<string> {
    return await this.transactions.run(async (tx) => await this.mails.enqueue(tx, mail));
  }
}
