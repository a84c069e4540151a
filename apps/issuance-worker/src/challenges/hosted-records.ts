import { LeaseLost } from '@certwright/postgres';
import { type Gateway, GatewayFault, type GatewayFaultCode } from '@certwright/gateway-client';
import {
  type HostedChallengeRecords,
  type HostedRecord,
  type RecordKey,
} from '../integrations/hosted-challenge-records';
import { type IntegrationLease, type LeasedIntegrations } from '@certwright/dns-integrations';
import { releaseAfterOutage } from '@certwright/service';
import { GatewaySession, leaseMs, NotAsked } from '../integrations/gateway-session';

export interface HostingPorts {
  /** In which the targets lie, and which the integration hosts, it or a zone above it. */
  readonly approvalZone: string;
  readonly gateway: Pick<Gateway, 'getZones' | 'addRecord' | 'removeRecord'>;
  readonly integrations: Pick<LeasedIntegrations, 'lease' | 'extend' | 'save' | 'release'>;
  readonly records: HostedChallengeRecords;
  readonly events: HostingEvents;
}

export interface HostingEvents {
  /** Nothing can be added through it: it was deleted, or there is none. */
  gone(integrationId: string): void;
  addFailed(integrationId: string, record: RecordKey, fault: GatewayFault): void;
  removeFailed(integrationId: string, record: RecordKey, fault: GatewayFault): void;
  leaseLost(integrationId: string, error: LeaseLost): void;
}

/** How long resolvers may keep it, seconds: a CA that looked too early looks again soon. */
const ttlS = 60;

/** After that no further record is begun, ms; with the longest message (30 s) it stays within what one exchange may take. */
const turnMs = 4_000;

/** Records that one round removes. */
const batch = 100;

/** What is refused before the provider is asked for a change, or by the provider itself: nothing was added. */
const notAppliedCodes: readonly GatewayFaultCode[] = [
  'bad_handle',
  'invalid_value',
  'policy_violation',
  'provider_auth_failed',
  'record_conflict',
  'zone_not_found',
];

export type Added = 'done' | 'busy' | 'more' | GatewayFault;

interface Turn {
  readonly lease: IntegrationLease;
  readonly session: GatewaySession;
  readonly isTimeLeft: () => boolean;
}

/**
 * TXT values at targets, in a zone of the operator's that an integration reaches. Everything happens under the lease of
 * that integration, and a row says beforehand what may come of it: a crash leaves no record that is not known.
 */
export class HostedRecords {
  constructor(private readonly ports: HostingPorts) {}

  /** Adds those of the rows that are wanted there. Ends when its turn is over, or with the first fault. */
  async add(integrationId: string, keys: readonly RecordKey[]): Promise<Added> {
    const added = await this.turn(integrationId, async (turn) => {
      for (const record of await this.ports.records.toAdd(integrationId, keys)) {
        if (!turn.isTimeLeft()) return 'more';
        const fault = await this.addOne(turn, record);
        if (fault !== null) return fault;
      }
      return 'done';
    });
    return added ?? 'busy';
  }

  /** Removes what nobody looks for any more. @returns whether something went wrong: a little later is soon enough */
  async clear(integrationId: string): Promise<'done' | 'more' | 'failed'> {
    const cleared = await this.turn(integrationId, async (turn) => {
      const records = await this.ports.records.toRemove(integrationId, batch);
      let failed = false;
      for (const record of records) {
        if (!turn.isTimeLeft()) return failed ? 'failed' : 'more';
        failed = (await this.removeOne(turn, record)) || failed;
      }
      if (failed) return 'failed';
      return records.length < batch ? 'done' : 'more';
    });
    return cleared ?? 'more';
  }

  /** @returns null: somebody else has the integration */
  private async turn<T>(integrationId: string, work: (turn: Turn) => Promise<T>): Promise<T | null> {
    const { integrations, gateway, events } = this.ports;
    const held = await integrations.lease(integrationId, leaseMs);
    if (held === null) return null;
    const endsMs = performance.now() + turnMs;
    const session = new GatewaySession(gateway, integrations, held);
    try {
      const result = await work({
        lease: held.lease,
        session,
        isTimeLeft: () => performance.now() < endsMs,
      });
      await integrations.release(held.lease);
      return result;
    } catch (error) {
      if (error instanceof LeaseLost && error.table === 'dns_integration') {
        events.leaseLost(integrationId, error);
        return null;
      }
      // After anything else that was not foreseen the lease runs out by itself: until then nothing spins.
      void releaseAfterOutage(error, async () => await integrations.release(held.lease), { forMs: leaseMs });
      throw error;
    }
  }

  private async addOne({ lease, session }: Turn, record: HostedRecord): Promise<GatewayFault | null> {
    const { records, events } = this.ports;
    if (!(await records.attempting(lease, record, 'added'))) return null;
    try {
      const handle = await session.add(this.recordOf(record));
      await records.handled(lease, record, handle, 'added');
      return null;
    } catch (error) {
      if (!(error instanceof GatewayFault)) throw error;
      const nothingAdded = error instanceof NotAsked || notAppliedCodes.includes(error.code);
      if (nothingAdded && record.attemptedAt === null) await records.notAttempted(lease, record);
      events.addFailed(lease.integrationId, record, error);
      return error;
    }
  }

  /** One of which no handle is known is added once more, which brings one. @returns whether it failed */
  private async removeOne({ lease, session }: Turn, record: HostedRecord): Promise<boolean> {
    const { records, events } = this.ports;
    if (!(await records.attempting(lease, record, 'removed'))) return false;
    try {
      let handle = record.recordHandle;
      if (handle === null) {
        handle = await session.add(this.recordOf(record));
        if (!(await records.handled(lease, record, handle, 'removed'))) return false;
      }
      await session.remove(handle);
      await records.removed(lease, record);
      return false;
    } catch (error) {
      if (!(error instanceof GatewayFault)) throw error;
      if (error.code === 'bad_handle' && record.recordHandle !== null) await records.unhandled(lease, record);
      events.removeFailed(lease.integrationId, record, error);
      return true;
    }
  }

  private recordOf({ label, value }: RecordKey) {
    const fqdn = `${label}.${this.ports.approvalZone}`;
    // Beside others: a name and its wildcard are shown by two values at one place.
    return { fqdn, type: 'TXT', value, ttl: ttlS, replace: false } as const;
  }
}
