import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { coreDataSource, Outbox, Transactions, claimDeployment } from '@certwright/core-schema';
import { EmailApprovals, HttpChallenges, IssuanceWakeUps, WebRules } from '@certwright/approvals';
import { Issuances, Plans } from '@certwright/ordering';
import { Mails } from '@certwright/delivery';
import { createLogger, Metrics, Readiness, type RunningProcess } from '@certwright/service';
import { testDatabase, testRedis } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { responderSettings } from '../config';
import { start } from '../start';

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface Sent {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A name of an order that is to be approved by email, and the link of its mail. */
export interface OrderedApproval {
  readonly planId: string;
  readonly issuanceId: string;
  readonly dnsName: string;
  readonly address: string;
  readonly token: string;
}

type Settings = Readonly<Record<string, string>>;

/**
 * The whole process on a real PostgreSQL, a real Redis and a real port; it writes the rows of other processes itself.
 */
export class RunningResponder {
  readonly logLines: string[] = [];
  readonly readiness = new Readiness({ reuseMs: 0 });
  readonly rules: WebRules;
  readonly challenges: HttpChallenges;
  readonly approvals: EmailApprovals;
  private readonly transactions: Transactions;
  private readonly issuances: Issuances;
  private readonly closes: (() => unknown)[] = [];
  url = '';

  private constructor(readonly database: DataSource) {
    this.transactions = new Transactions(database);
    this.issuances = new Issuances(database, new Outbox(database));
    this.rules = new WebRules(database);
    this.challenges = new HttpChallenges(database);
    this.approvals = new EmailApprovals(
      database,
      this.transactions,
      new Mails(database),
      new IssuanceWakeUps(database, new Outbox(database)),
    );
  }

  /** @param settings in addition to the usual ones; may depend on the database URL */
  static async start(settings: (databaseUrl: string) => Promise<Settings> | Settings = () => ({})) {
    const [store, redis] = await Promise.all([testDatabase(), testRedis()]);
    const database = coreDataSource({
      url: store.url,
      applicationName: 'spec',
      poolSize: 5,
      statementTimeoutMs: 10_000,
    });
    const responder = new RunningResponder(await database.initialize());
    await claimDeployment(database, 'sandbox');
    responder.closes.push(
      async () => await database.destroy(),
      async () => await Promise.all([store.dispose(), redis.dispose()]),
    );
    const special = await settings(store.urlOf('approval-responder'));
    const config = responderSettings.read({
      DATABASE_URL: store.urlOf('approval-responder'),
      ...redis.environment,
      PORT: '0',
      DRAIN_TIME: '0',
      ...special,
    });
    const running: RunningProcess = {
      name: 'approval-responder',
      log: createLogger('approval-responder', 'debug', {
        write: (line) => void responder.logLines.push(line),
      }),
      metrics: new Metrics('approval-responder'),
      readiness: responder.readiness,
      opened: (_name, close) => void responder.closes.unshift(close),
    };
    const app = await start(config, running);
    responder.readiness.started();
    responder.url = (await app.getUrl()).replace('[::1]', '127.0.0.1');
    return responder;
  }

  async stop(): Promise<void> {
    for (const close of this.closes) await close();
  }

  /** @returns the secret in the path of the account's rule */
  async tenant(accountId: string, name = 'A tenant'): Promise<string> {
    await this.database.query(`INSERT INTO account (id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING`, [
      accountId,
      name,
    ]);
    const digits = createHash('sha256').update(accountId).digest('hex').slice(0, 32);
    return await this.rules.ensure(accountId, () => digits.replace(/[0189]/g, 'z'));
  }

  /** A requested order of the tenant, with the link of its mail. */
  async order(accountId: string, dnsName: string, orderName = dnsName): Promise<OrderedApproval> {
    const address = `admin@${dnsName}`;
    const approverEmails = { [dnsName]: address };
    const key = { keyType: 'ecdsa', csr: randomBytes(8), spkiSha256: Buffer.alloc(32, 0xab) } as const;
    const plans = new Plans();
    const opened = await this.transactions.run(async (tx) => {
      const plan = { accountId, autoRenew: true, muted: false, paused: false };
      const planId = await plans.create(tx, {
        ...plan,
        downloadToken: randomBytes(20).toString('base64url'),
      });
      const terms = { product: 'paid_ca', dnsNames: [dnsName], approverEmails, ...key };
      const termsId = await plans.setTerms(tx, planId, terms);
      await tx.query(
        `INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, product, key_type, csr, spki_sha256)
         VALUES ($1, $2, $3, $4, $5, 'paid_ca', 'ecdsa', $6, $7)`,
        [planId, accountId, orderName, [dnsName], JSON.stringify(approverEmails), key.csr, key.spkiSha256],
      );
      const issuance = { planId, accountId, revision: 1, termsId, dnsNames: [dnsName], settlingMs: 0 };
      return { planId, issuanceId: await this.issuances.open(tx, issuance) };
    });
    await this.approvals.request({ accountId, planId: opened.planId, dnsName, address }, new Date(0));
    const token = await this.link(opened.planId);
    return { ...opened, dnsName, address, token };
  }

  /** The notifier's step before it sends a mail. */
  async link(planId: string): Promise<string> {
    const [mailbox] = await this.approvals.ofPlan(planId);
    const token = randomBytes(32).toString('base64url');
    await this.approvals.issueToken(mailbox?.approvalId ?? '', createHash('sha256').update(token).digest());
    return token;
  }

  async approvedAt({ planId }: OrderedApproval): Promise<Date | null> {
    const [mailbox] = await this.approvals.ofPlan(planId);
    return mailbox?.approvedAt ?? null;
  }

  /** Sends the path unchanged, and follows no redirect. */
  async call(method: string, path: string, { body, headers = {} }: Sent = {}): Promise<Answered> {
    const { hostname, port } = new URL(this.url);
    return await new Promise((resolve, reject) => {
      const sent = request({ hostname, port, method, path, headers: { ...headers } }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}
