import { recordTypes, type RecordType, type Zone } from '@certwright/gateway-contract';
import type { AddOutcome, DnsRecord, ProviderPorts, ProviderSession } from '../dns-provider';
import { afterAttempt, afterChange, ProviderFault } from '../provider-fault';

/** All records of one type at one name, as the API has them. */
export interface Rrset {
  readonly type: RecordType;
  /** In the API's own syntax: foreign values are written back unchanged. */
  readonly values: readonly string[];
  /** Seconds; null when the API does not report it. */
  readonly ttlS: number | null;
  /** Version for compare-and-swap (an ETag); null when the API has none, or compares the values themselves. */
  readonly version: string | null;
}

export interface RrsetChange {
  readonly type: RecordType;
  /** As read; null when there was none. */
  readonly before: Rrset | null;
  /** Null: delete it. `ttlS` null: the provider's default. */
  readonly after: { readonly values: readonly string[]; readonly ttlS: number | null } | null;
}

/** `stale`: the RRsets changed since `before` was read, and nothing was written. */
export type WriteOutcome = 'written' | 'stale';

/** Operations of an API that writes whole RRsets. */
export interface RrsetPorts {
  /** Existing RRsets of these types at exactly this name. */
  read(zone: Zone, fqdn: string, types: readonly RecordType[]): Promise<readonly Rrset[]>;
  /**
   * Applies the changes, all or none if the API supports it (otherwise in this order, deletions first: `oneByOne`).
   * May be repeated: deleting a missing RRset succeeds.
   */
  write(zone: Zone, fqdn: string, changes: readonly RrsetChange[]): Promise<WriteOutcome>;
  /** A record's value in the API's own syntax. */
  format(record: DnsRecord): string;
  /** A value from the API in the contract's normal form. */
  normal(type: RecordType, value: string): string;
}

/**
 * Max attempts of one change under concurrent writes. Changes of a zone are serialized within a process, so these
 * come from its copies or other programs; allows for as many as may run at once.
 */
const maxAttempts = 24;

/** The three changes of `ProviderSession` over whole RRsets: read, decide, and write unless changed meanwhile. */
export function rrsetChanges(
  ports: RrsetPorts,
  { rest }: Pick<ProviderPorts, 'rest'>,
  signal: AbortSignal,
): Pick<ProviderSession, 'add' | 'replace' | 'remove'> {
  const settle = async (
    zone: Zone,
    { fqdn }: DnsRecord,
    types: readonly RecordType[],
    decide: (there: readonly Rrset[]) => readonly RrsetChange[],
  ): Promise<readonly RrsetChange[]> => {
    const made: RrsetChange[] = [];
    for (let tries = 1; tries <= maxAttempts; tries += 1) {
      signal.throwIfAborted();
      const mayBeWritten = made.length > 0;
      try {
        const changes = decide(await ports.read(zone, fqdn, types));
        // An attempt may have been applied although it seemed to fail: when its response was lost, its repetition is stale.
        made.push(...changes);
        if (changes.length === 0 || (await ports.write(zone, fqdn, changes)) === 'written') return made;
      } catch (error) {
        throw mayBeWritten ? afterAttempt(error) : error;
      }
      await rest(Math.random() * Math.min(1_000, 25 * 2 ** tries), signal);
    }
    throw new ProviderFault('unavailable', `${fqdn} is being changed by others all the time.`);
  };
  const is = (record: DnsRecord) => (value: string) => ports.normal(record.type, value) === record.value;
  return {
    async add(zone, record) {
      try {
        const made = await settle(zone, record, [record.type], (there) =>
          addition(record, there, ports.format(record), is(record)),
        );
        return outcomeOf(made, is(record));
      } catch (error) {
        throw await explained(error, ports, zone, record);
      }
    },
    async replace(zone, record) {
      const made = await settle(zone, record, recordTypes, (there) =>
        replacement(record, there, ports.format(record), is(record)),
      );
      return outcomeOf(made, is(record));
    },
    async remove(zone, record) {
      await settle(zone, record, [record.type], (there) => removal(record, there, is(record)));
    },
  };
}

/** Outcome of the changes that were, or may have been, written. A value that a replacement keeps counts as existing before. */
const outcomeOf = (made: readonly RrsetChange[], is: IsRecord): AddOutcome =>
  made.some(({ before, after }) => after?.values.some(is) && !before?.values.some(is))
    ? 'created'
    : 'existed';

type IsRecord = (value: string) => boolean;

function addition(
  record: DnsRecord,
  there: readonly Rrset[],
  value: string,
  is: IsRecord,
): readonly RrsetChange[] {
  const before = there.find(({ type }) => type === record.type) ?? null;
  if (before === null) {
    return [{ type: record.type, before, after: { values: [value], ttlS: record.ttlS } }];
  }
  if (before.values.some(is)) return [];
  // A name has one CNAME (RFC 1034, section 3.6.2); an API may keep the first of two and report success.
  if (record.type === 'CNAME') throw cnameConflict(record);
  // An RRset has one TTL (RFC 2181, section 5.2). A foreign TTL stays unchanged, even when the API does not report
  // it.
  return [{ type: record.type, before, after: { values: [...before.values, value], ttlS: before.ttlS } }];
}

function removal({ type }: DnsRecord, there: readonly Rrset[], is: IsRecord): readonly RrsetChange[] {
  const before = there.find((rrset) => rrset.type === type);
  if (before === undefined || !before.values.some(is)) return [];
  const values = before.values.filter((value) => !is(value));
  return [{ type, before, after: values.length === 0 ? null : { values, ttlS: before.ttlS } }];
}

function replacement(
  record: DnsRecord,
  there: readonly Rrset[],
  value: string,
  is: IsRecord,
): readonly RrsetChange[] {
  const others = there.filter(({ type }) => type !== record.type);
  const cleared = others.map((before): RrsetChange => ({ type: before.type, before, after: null }));
  const before = there.find(({ type }) => type === record.type) ?? null;
  if (before?.values.length === 1 && before.values.some(is)) return cleared;
  return [...cleared, { type: record.type, before, after: { values: [value], ttlS: record.ttlS } }];
}

/** A refusal because a CNAME is, or would be, beside other records (RFC 1034, section 3.6.2). */
async function explained(error: unknown, ports: RrsetPorts, zone: Zone, record: DnsRecord): Promise<unknown> {
  if (!(error instanceof ProviderFault) || error.kind !== 'rejected') return error;
  const there = await ports.read(zone, record.fqdn, recordTypes).catch((): readonly Rrset[] => []);
  const conflicting = record.type === 'CNAME' ? there.length > 0 : there.some(({ type }) => type === 'CNAME');
  return conflicting ? cnameConflict(record) : error;
}

export const cnameConflict = ({ fqdn, type }: DnsRecord): ProviderFault =>
  new ProviderFault('conflict', `${fqdn} has a record that a ${type} record cannot coexist with.`);

/** The name has records that the API selects depending on the client. */
export const routedConflict = (fqdn: string, type: RecordType): ProviderFault =>
  new ProviderFault(
    'conflict',
    `${fqdn} has a ${type} record with a routing policy or an alias, which is left unchanged.`,
  );

/** For APIs that write one RRset per request. */
export const oneByOne =
  (writeOne: (zone: Zone, fqdn: string, change: RrsetChange) => Promise<WriteOutcome>): RrsetPorts['write'] =>
  async (zone, fqdn, changes) => {
    for (const [nth, change] of changes.entries()) {
      const outcome = await writeOne(zone, fqdn, change).catch((error: unknown) => {
        throw nth > 0 ? afterChange(error) : error;
      });
      if (outcome === 'stale') return 'stale';
    }
    return 'written';
  };
