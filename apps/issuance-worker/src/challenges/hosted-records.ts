import { LeaseLost } from '@certwright/postgres';
import { type Gateway, GatewayFault, type GatewayFaultCode } from '@certwright/gateway-client';
import {
  type HostedChallengeRecords,
  type HostedRecord,
  type RecordKey,
} from '../integrations/hosted-challenge-records';
import { type IntegrationLease, type LeasedIntegrations } from '@certwright/dns-integrations';
import { releaseAfterOutage } from '@certwright/service';
import { GatewaySession, leaseMs, NotSent } from '../integrations/gateway-session';

export interface HostingPorts {
  /** Zone of the targets; the integration hosts it or a parent zone. */
  readonly approvalZone: string;
  readonly gateway: Pick<Gateway, 'getZones' | 'addRecord' | 'removeRecord'>;
  readonly integrations: Pick<LeasedIntegrations, 'lease' | 'extend' | 'save' | 'release'>;
  readonly records: HostedChallengeRecords;
  readonly events: HostingEvents;
}

export interface HostingEvents {
  /** Nothing can be added: the integration was deleted or does not exist. */
  gone(integrationId: string): void;
  addFailed(integrationId: string, record: RecordKey, fault: GatewayFault): void;
  removeFailed(integrationId: string, record: RecordKey, fault: GatewayFault): void;
  leaseLost(integrationId: string, error: LeaseLost): void;
}

/** TTL, seconds; short, so that a CA that queried too early sees the value soon. */
const ttlS = 60;

/**
 * No further record is added after this time, ms; with the longest message (30 s) it stays within the limit of an
 * exchange.
 */
const turnMs = 4_000;

/** Max records removed per round. */
const batch = 100;

/** Errors before the change is sent, or refusals by the provider: nothing was added. */
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
 * TXT values at targets, in an operator's zone managed through an integration. All changes run under the
 * integration's lease, and a row is written first: a crash leaves no unknown record.
 */
export class HostedRecords {
  constructor(private readonly ports: HostingPorts) {}

  /** Adds the wanted rows. Ends when its time is over, or with the first error. */
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

  /** Removes values no longer needed. @returns whether something failed; the caller retries later */
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

  /** @returns null: another worker has the integration's lease */
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
      // After unexpected errors the lease expires by itself, which prevents a busy loop.
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
      const nothingAdded = error instanceof NotSent || notAppliedCodes.includes(error.code);
      if (nothingAdded && record.attemptedAt === null) await records.notAttempted(lease, record);
      events.addFailed(lease.integrationId, record, error);
      return error;
    }
  }

  /** A record without a known handle is added again, which returns one. @returns whether it failed */
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
    // Keep other values: a name and its wildcard have two values at one name.
    return { fqdn, type: 'TXT', value, ttl: ttlS, replace: false } as const;
  }
}
