import { LeaseLost } from '@certwright/postgres';
import { type Gateway, GatewayFault } from '@certwright/gateway-client';
import {
  type DnsIntegrations,
  type LeasedIntegration,
  type LeasedIntegrations,
  nextZonesAt,
} from '@certwright/dns-integrations';
import { type IssuanceWakeUps } from '@certwright/approvals';
import { type LeasedRecords } from './leased-records';
import { releaseAfterOutage } from '@certwright/service';
import { sideBySide } from '../approvals/side-by-side';
import { GatewaySession, leaseMs, problemOf } from './gateway-session';
import { KeepRecord, type RecordPorts } from './keep-record';

export interface KeepPorts extends RecordPorts {
  readonly gateway: Pick<Gateway, 'getZones' | 'addRecord' | 'removeRecord'>;
  readonly integrations: Pick<LeasedIntegrations, 'lease' | 'extend' | 'save' | 'release'>;
  readonly zones: Pick<DnsIntegrations, 'zonesOf'>;
  readonly records: Pick<LeasedRecords, 'due' | 'save'>;
  readonly wakeUps: Pick<IssuanceWakeUps, 'wakeUnapproved'>;
  /** The process stops: no new work is started. */
  readonly stopping: AbortSignal;
}

/** Max records read at once, and max parallel look-ups; gateway messages are sent one at a time. */
const batch = 32;
const lookedAtOnce = 8;

/** After this time no new work is started: others get their turn, and the sweep enqueues the rest, ms. */
const runMs = 40_000;

type Run = LeasedIntegration & { readonly session: GatewaySession; readonly clock: () => Date };

/** Processes due work of one integration until none is left or its time is over. */
export class KeepIntegration {
  constructor(private readonly ports: KeepPorts) {}

  async run(integrationId: string): Promise<void> {
    const held = await this.ports.integrations.lease(integrationId, leaseMs);
    if (held === null) return;
    const startedMs = performance.now();
    const clock = () => new Date(held.now.getTime() + performance.now() - startedMs);
    const session = new GatewaySession(this.ports.gateway, this.ports.integrations, held);
    const run = { ...held, session, clock };
    try {
      const { deletedAt, zonesDueAt } = held.integration;
      if (deletedAt === null && zonesDueAt.getTime() <= held.now.getTime()) await this.listZones(run);
      await this.keepRecords(run, startedMs + runMs);
      await this.ports.integrations.release(held.lease);
    } catch (error) {
      if (error instanceof LeaseLost) return this.ports.events.leaseLost(held.integration, error);
      // After an unexpected error the lease expires by itself, which prevents a busy loop.
      const release = async () => await this.ports.integrations.release(held.lease);
      void releaseAfterOutage(error, release, { forMs: leaseMs, signal: this.ports.stopping });
      throw error;
    }
  }

  private async keepRecords({ lease, session, clock }: Run, endsMs: number): Promise<void> {
    const isTimeLeft = () => performance.now() < endsMs && !this.ports.stopping.aborted;
    const keeper = new KeepRecord(this.ports, lease, session, clock, isTimeLeft);
    while (isTimeLeft()) {
      const due = await this.ports.records.due(lease, batch);
      if (due.length === 0) return;
      await this.ports.integrations.extend(lease, leaseMs);
      await sideBySide(lookedAtOnce, due, async (record) => {
        if (isTimeLeft()) await keeper.run(record);
      });
    }
  }

  /** A failure is reported with the integration, and retried. */
  private async listZones({ lease, integration, session, clock }: Run): Promise<void> {
    const { id, accountId } = integration;
    try {
      const zones = await session.zones();
      const known = (await this.ports.zones.zonesOf(accountId, [id])).get(id) ?? [];
      const checkedAt = clock();
      const progress = {
        zones,
        checkedAt,
        failures: 0,
        zonesDueAt: nextZonesAt(checkedAt, 0),
        problem: null,
      };
      await this.ports.integrations.save(lease, progress, { keepForMs: leaseMs });
      const names = new Set(known.map(({ name }) => name));
      if (zones.some(({ name }) => !names.has(name))) await this.ports.wakeUps.wakeUnapproved(accountId);
    } catch (error) {
      if (!(error instanceof GatewayFault)) throw error;
      this.ports.events.zonesFailed(integration, error);
      const failures = integration.failures + 1;
      const backoffEnds = nextZonesAt(clock(), failures).getTime();
      const zonesDueAt = new Date(
        Math.max(backoffEnds, clock().getTime() + (error.retryAfterS ?? 0) * 1_000),
      );
      const progress = { failures, zonesDueAt, problem: problemOf(error) };
      await this.ports.integrations.save(lease, progress, { keepForMs: leaseMs });
    }
  }
}
