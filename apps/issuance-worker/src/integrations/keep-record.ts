import { approvalLabelOf } from '@certwright/dns-names';
import { GatewayFault, type GatewayFaultCode } from '@certwright/gateway-client';
import {
  nextRecordStep,
  type RecordChange,
  type RecordFinding,
  type RecordStep,
  whenAdded,
  whenFailed,
  whenRemoved,
} from '@certwright/issuance';
import type { DueRecord, LeasedRecord, LeasedRecords } from './leased-records';
import type { IntegrationLease } from '@certwright/dns-integrations';
import type { NameServers } from '../name-servers/name-servers';
import { type GatewaySession, NotSent, problemOf } from './gateway-session';
import type { IntegrationEvents } from './integration-events';

export interface RecordPorts {
  readonly records: Pick<LeasedRecords, 'save'>;
  readonly nameServers: Pick<NameServers, 'find'>;
  readonly events: IntegrationEvents;
}

/** TTL for resolvers, seconds: short, so that changes are seen soon. */
const ttlS = 60;

/** Refusals by the gateway before a change at the provider, or by the provider itself: nothing was added. */
const notAppliedCodes: readonly GatewayFaultCode[] = [
  'bad_handle',
  'invalid_value',
  'out_of_range',
  'policy_violation',
  'provider_auth_failed',
  'record_conflict',
  'zone_not_found',
];

/** Advances a record one step after the other until it waits, or its lease moves to another worker. */
export class KeepRecord {
  constructor(
    private readonly ports: RecordPorts,
    private readonly lease: IntegrationLease,
    private readonly session: Pick<GatewaySession, 'add' | 'remove'>,
    private readonly clock: () => Date,
    private readonly goesOn: () => boolean,
  ) {}

  /** Each step leaves a row that says how to continue. @throws LeaseLost */
  async run({ record: found, needed }: DueRecord): Promise<void> {
    // Due by the database's clock, not ours.
    let record: LeasedRecord | null = found;
    let finding: RecordFinding | null = null;
    do {
      const step: RecordStep = nextRecordStep(record, { needed, finding }, this.clock());
      if (step.kind === 'look') finding = await this.look(record);
      else {
        record = await this.take(step, record);
        // Results from before a change at the provider are outdated.
        if (step.kind !== 'save') finding = null;
      }
    } while (record !== null && this.goesOn() && isDue(record, this.clock()));
  }

  private async look({ dnsName, zoneName, target }: LeasedRecord): Promise<RecordFinding> {
    return await this.ports.nameServers.find({ recordName: approvalLabelOf(dnsName), target, zoneName });
  }

  /** @returns the current record; null: it no longer belongs to us */
  private async take(
    step: Exclude<RecordStep, { kind: 'look' }>,
    record: LeasedRecord,
  ): Promise<LeasedRecord | null> {
    switch (step.kind) {
      case 'save': {
        const saved = await this.save(record, step.change);
        if (saved !== null && saved.state === 'standing' && record.state === 'wanted') {
          this.ports.events.standing(saved);
        }
        return saved;
      }
      case 'add':
        return await this.add(record);
      case 'remove':
        return await this.remove(record);
    }
  }

  /** The possible existence is stored before the call; after a crash in between the record is still known. */
  private async add(before: LeasedRecord): Promise<LeasedRecord | null> {
    const record =
      before.attemptedAt === null ? await this.save(before, { attemptedAt: this.clock() }) : before;
    if (record === null) return null;
    const { dnsName, target } = record;
    try {
      const fqdn = approvalLabelOf(dnsName);
      const handle = await this.session.add({ fqdn, type: 'CNAME', value: target, ttl: ttlS, replace: true });
      const added = await this.save(record, whenAdded(record, handle, this.clock()));
      if (added !== null) this.ports.events.added(added);
      return added;
    } catch (error) {
      return await this.failed(record, error, (fault) =>
        fault instanceof NotSent || notAppliedCodes.includes(fault.code)
          ? { attemptedAt: before.attemptedAt }
          : {},
      );
    }
  }

  private async remove(record: LeasedRecord): Promise<LeasedRecord | null> {
    if (record.recordHandle === null) throw new Error('remove comes after add');
    try {
      await this.session.remove(record.recordHandle);
      const removed = await this.save(record, whenRemoved);
      if (removed !== null) this.ports.events.removed(removed);
      return removed;
    } catch (error) {
      // An invalid handle is replaced by adding the record again.
      return await this.failed(record, error, ({ code }) =>
        code === 'bad_handle' ? { recordHandle: null } : {},
      );
    }
  }

  private async failed(
    record: LeasedRecord,
    error: unknown,
    also: (fault: GatewayFault) => RecordChange,
  ): Promise<LeasedRecord | null> {
    if (!(error instanceof GatewayFault)) throw error;
    this.ports.events.recordFailed(record, error);
    const change = whenFailed(record, problemOf(error), error.retryAfterS ?? null, this.clock());
    return await this.save(record, { ...change, ...also(error) });
  }

  private async save(record: LeasedRecord, change: RecordChange): Promise<LeasedRecord | null> {
    return (await this.ports.records.save(this.lease, record, change)) ? { ...record, ...change } : null;
  }
}

function isDue({ state, dueAt }: LeasedRecord, now: Date): boolean {
  return state !== 'removed' && dueAt !== null && dueAt.getTime() <= now.getTime();
}
