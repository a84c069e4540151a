import { createHash, randomBytes } from 'node:crypto';
import { baseName } from '@certwright/dns-names';
import type { ApprovalWay, NameApproval } from '@certwright/issuance';
import {
  ApprovalRecords,
  EmailApprovals,
  HttpChallenges,
  IssuanceWakeUps,
  WebRules,
} from '@certwright/approvals';
import { Mails } from '@certwright/delivery';
import { Outbox, Transactions } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';
import type { Approver } from '../approvals/approver';
import { DnsApprover } from '../approvals/dns-approver';
import { EmailApprover } from '../approvals/email-approver';
import { HttpApprover, type Probe } from '../approvals/http-approver';
import { parentDelegation } from '../approvals/parent-delegation';
import { AdvanceIssuance, type AdvancePorts } from '../issuance/advance-issuance';
import { Issuing } from './issuing';
import { openIssuance, type OpenedIssuance, opensslCsr, type Ordered } from './opened-issuance';
import { ZoneNetwork } from './zone-network';

export const approvalZone = 'approval.test';
const reuseMs = 200 * 86_400_000;

export const byDns = (recordAt: string | null = null): ApprovalWay => ({
  method: 'dns',
  approverEmail: null,
  recordAt,
});
export const byHttp: ApprovalWay = { method: 'http', approverEmail: null, recordAt: null };
export const byEmail = (approverEmail: string): ApprovalWay => ({
  method: 'email',
  approverEmail,
  recordAt: null,
});

/** A real database and DNS, the three approval methods, and the customer's actions for each of them. */
export class Approving {
  /** Names whose web servers forward to the account's own path, by its rule. */
  readonly ruled = new Set<string>();
  readonly unexpectedErrors: unknown[] = [];
  private readonly emails: EmailApprovals;

  private constructor(
    readonly issuing: Issuing,
    readonly network: ZoneNetwork,
    private readonly accountId: string,
    private readonly ruleSecret: string,
  ) {
    const { database, repositories } = issuing;
    const { transactions } = repositories;
    const wakeUps = new IssuanceWakeUps(database, new Outbox(database));
    this.emails = new EmailApprovals(database, transactions, new Mails(database), wakeUps);
  }

  static async open(accountId: string, zoneNames: readonly string[]): Promise<Approving> {
    const issuing = await Issuing.open();
    await issuing.database.query(`INSERT INTO account (id, name) VALUES ($1, 'Spec')`, [accountId]);
    const secret = await new WebRules(issuing.database).ensure(accountId, () => 'a'.repeat(32));
    return new Approving(issuing, await ZoneNetwork.open(zoneNames), accountId, secret);
  }

  async close(): Promise<void> {
    await this.network.close();
    await this.issuing.close();
  }

  get database(): DataSource {
    return this.issuing.database;
  }

  /** An issuance of a product that supports every method. */
  async order(
    ways: Readonly<Record<string, ApprovalWay>>,
    also: Ordered & { readonly csr?: Buffer } = {},
  ): Promise<OpenedIssuance> {
    const dnsNames = Object.keys(ways);
    const { csr = opensslCsr(dnsNames), ...ordered } = also;
    const said = { product: 'paid_ca', approvalWays: ways, ...ordered };
    return await openIssuance(this.issuing.repositories, dnsNames, csr, this.accountId, said);
  }

  /** The customer publishes the standing record of a name, or removes it. */
  async publishRecord(dnsName: string, exists = true): Promise<void> {
    const name = baseName(dnsName);
    const [row] = await this.database.query<[{ label: string }]>(
      `SELECT label FROM delegation WHERE account_id = $1 AND dns_name = $2`,
      [this.accountId, name],
    );
    this.network.publish(`_acme-challenge.${name}`, exists ? `${row.label}.${approvalZone}` : null);
  }

  /** The mailbox owner follows the link and presses the button. */
  async approveByEmail(planId: string, dnsName: string): Promise<void> {
    const requested = (await this.emails.ofPlan(planId)).find((mailbox) => mailbox.dnsName === dnsName);
    const sha256 = createHash('sha256').update(randomBytes(32)).digest();
    await this.emails.issueToken(requested?.approvalId ?? '', sha256);
    expect(await this.emails.approve(sha256)).toMatchObject({ state: 'approved' });
  }

  /** Recipients of mails about a plan. */
  async askedByEmail(planId: string): Promise<readonly string[]> {
    return (await this.emails.ofPlan(planId)).map(({ dnsName, address }) => `${dnsName} ${address}`).sort();
  }

  /** The job `advance-issuance`. */
  worker(also: Partial<AdvancePorts> = {}): AdvanceIssuance {
    const ports = this.issuing.ports();
    return new AdvanceIssuance({
      ...ports,
      approvers: this.approvers(),
      events: { ...ports.events, unexpectedError: (_, error) => this.unexpectedErrors.push(error) },
      ...also,
    });
  }

  async advance({ issuanceId }: OpenedIssuance, worker = this.worker()): Promise<IssuanceFound> {
    await this.database.query(
      `UPDATE issuance SET leased_until = NULL, due_at = now(), opened_at = opened_at - interval '2 s'
       WHERE state = 'open'`,
    );
    await worker.run(issuanceId);
    expect(this.unexpectedErrors).toEqual([]);
    return await this.find(issuanceId);
  }

  async find(issuanceId: string): Promise<IssuanceFound> {
    const [row] = await this.database.query<
      [Omit<IssuanceFound, 'methods'> & { approvals: readonly NameApproval[] }]
    >(`SELECT state, last_error, approvals FROM issuance WHERE id = $1`, [issuanceId]);
    return {
      ...row,
      methods: Object.fromEntries(row.approvals.map(({ dnsName, method }) => [dnsName, method])),
    };
  }

  private approvers(): readonly Approver[] {
    const { lookUp, nameServers } = this.network;
    const { asWorker } = this.issuing;
    const transactions = new Transactions(asWorker);
    const records = new ApprovalRecords(asWorker, transactions);
    const wakeUps = new IssuanceWakeUps(asWorker, new Outbox(asWorker));
    const emails = new EmailApprovals(asWorker, transactions, new Mails(asWorker), wakeUps);
    const doubt = async (id: string) => await records.doubt(id);
    return [
      new DnsApprover(lookUp, approvalZone, doubt, parentDelegation(lookUp, nameServers)),
      new HttpApprover(new HttpChallenges(asWorker), new WebRules(asWorker), this.probe),
      new EmailApprover(emails, reuseMs),
    ];
  }

  /** Answers like approval-responder through the rule of the account. */
  private readonly probe: Probe = async ({ dnsName, path }) => {
    const token = path.split('/').at(-1) ?? '';
    const rule = this.ruled.has(dnsName) ? this.ruleSecret : 'unknown';
    const response = await new HttpChallenges(this.database).answerFor(rule, token);
    const hops = [{ url: `http://${dnsName}${path}`, status: 200, address: '127.0.0.1' }];
    return response === null
      ? { kind: 'answered', status: 404, body: '', hops }
      : { kind: 'answered', status: 200, body: response.content, hops };
  };
}

export interface IssuanceFound {
  readonly state: string;
  readonly last_error: { readonly code: string; readonly message: string } | null;
  readonly approvals: readonly NameApproval[];
  /** By which method each name is approved. */
  readonly methods: Readonly<Record<string, NameApproval['method']>>;
}
