import { randomInt } from 'node:crypto';
import { ApprovalRecords, IssuanceWakeUps } from '@certwright/approvals';
import { DnsIntegrations, LeasedIntegrations } from '@certwright/dns-integrations';
import { LeasedIssuances } from '@certwright/ordering';
import { LeasedRecords } from '../integrations/leased-records';
import { Outbox, Transactions } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';
import { DnsApprover } from '../approvals/dns-approver';
import { parentDelegation } from '../approvals/parent-delegation';
import { PublishApprovals } from '../approvals/publish-approvals';
import type { IntegrationEvents } from '../integrations/integration-events';
import { KeepIntegration } from '../integrations/keep-integration';
import { AdvanceIssuance, type AdvancePorts } from '../issuance/advance-issuance';
import { FakeGateway } from './fake-gateway';
import { Issuing } from './issuing';
import { ZoneNetwork } from './zone-network';

export const approvalZone = 'approval.test';

const quiet: IntegrationEvents = {
  added: () => undefined,
  standing: () => undefined,
  removed: () => undefined,
  recordFailed: () => undefined,
  zonesFailed: () => undefined,
  leaseLost: () => undefined,
};

export interface StoredRecord {
  readonly integration_id: string;
  readonly dns_name: string;
  readonly target: string;
  readonly state: string;
  readonly record_handle: string | null;
  readonly problem: string | null;
  readonly failures: number;
  readonly waits_s: number | null;
}

/** Integrations of accounts at a fake gateway, zones on real DNS servers, a real database, and the worker's two jobs. */
export class Keeping {
  readonly gateway: FakeGateway;
  private readonly zones = new Map<string, readonly string[]>();

  private constructor(
    readonly issuing: Issuing,
    readonly network: ZoneNetwork,
  ) {
    this.gateway = new FakeGateway(network, (id) => this.zones.get(id) ?? []);
  }

  static async open(zoneNames: readonly string[]): Promise<Keeping> {
    return new Keeping(await Issuing.open(), await ZoneNetwork.open(zoneNames));
  }

  async close(): Promise<void> {
    await this.network.close();
    await this.issuing.close();
  }

  get database(): DataSource {
    return this.issuing.database;
  }

  get asWorker(): DataSource {
    return this.issuing.asWorker;
  }

  /** @param listed whether its zones are known already */
  async integration(accountId: string, zoneNames: readonly string[], listed = true): Promise<string> {
    const { database } = this;
    const id = String(randomInt(1, 2 ** 48 - 1));
    this.zones.set(id, zoneNames);
    await database.query(`INSERT INTO account (id, name) VALUES ($1, 'Spec') ON CONFLICT DO NOTHING`, [
      accountId,
    ]);
    const transactions = new Transactions(database);
    const sealed = { handle: `handle of ${id}`, zonesDueAt: new Date(Date.now() + 3_600_000) };
    const zones = listed ? zoneNames.map((name) => ({ id: `id of ${name}`, name })) : null;
    await transactions.run(
      async (tx) =>
        await new DnsIntegrations(database, transactions).create(tx, {
          ...{ id, accountId, provider: 'desec', description: '', zones, ...sealed },
        }),
    );
    return id;
  }

  async deleteIntegration(accountId: string, id: string): Promise<void> {
    const transactions = new Transactions(this.database);
    const integrations = new DnsIntegrations(this.database, transactions);
    await transactions.run(async (tx) => await integrations.markDeleted(tx, accountId, id));
  }

  /** Sets the zones that the provider lists from now on. */
  zonesAre(id: string, zoneNames: readonly string[]): void {
    this.zones.set(id, zoneNames);
  }

  /** The job `keep-integration` over a connection. */
  async keep(id: string, source: DataSource = this.asWorker): Promise<void> {
    const transactions = new Transactions(source);
    const wakeUps = new IssuanceWakeUps(source, new Outbox(source));
    const job = new KeepIntegration({
      gateway: this.gateway,
      integrations: new LeasedIntegrations(source, transactions),
      zones: new DnsIntegrations(source, transactions),
      records: new LeasedRecords(source, transactions, wakeUps),
      wakeUps,
      nameServers: this.network.nameServers,
      events: quiet,
      stopping: new AbortController().signal,
    });
    await job.run(id);
  }

  /** The job `advance-issuance` over a connection. */
  async advance(issuanceId: string, source: DataSource = this.asWorker): Promise<void> {
    const records = new ApprovalRecords(source, new Transactions(source));
    const doubt = async (id: string) => await records.doubt(id);
    const ports: AdvancePorts = {
      ...this.issuing.ports(),
      leasedIssuances: new LeasedIssuances(source),
      approvers: [
        new DnsApprover(
          this.network.lookUp,
          approvalZone,
          doubt,
          parentDelegation(this.network.lookUp, this.network.nameServers),
        ),
      ],
      publishing: new PublishApprovals(records, approvalZone, true),
    };
    await new AdvanceIssuance(ports).run(issuanceId);
  }

  /** Makes everything that waits due, and releases leases of dead workers. */
  async timePasses(): Promise<void> {
    await this.database.query(`UPDATE issuance SET leased_until = NULL, due_at = now() WHERE state = 'open'`);
    await this.database.query(`UPDATE dns_integration SET leased_until = NULL`);
    await this.database.query(
      `UPDATE approval_record SET due_at = now() WHERE due_at IS NOT NULL AND state <> 'removed'`,
    );
  }

  /** By name; includes removed ones. */
  async records(accountId: string): Promise<readonly StoredRecord[]> {
    return await this.database.query(
      `SELECT integration_id, dns_name, target, state, record_handle, problem, failures,
         extract(epoch FROM due_at - clock_timestamp())::float AS waits_s
       FROM approval_record WHERE account_id = $1 ORDER BY dns_name, id`,
      [accountId],
    );
  }
}
