import { recordTypes, type RecordType, type Zone } from '@certwright/gateway-contract';
import type { DnsRecord, ProviderSession } from '../dns-provider';
import { afterChange, ProviderFault, type ProviderFaultKind } from '../provider-fault';
import { cnameConflict } from './rrset-changes';

/** One record as returned by the API. Clients skip other types than the four. */
export interface StoredRecord {
  /** The API's id, as needed by `delete`. */
  readonly id: string;
  readonly type: RecordType;
  /** In the contract's normal form. */
  readonly value: string;
}

/** Operations of an API with one object per record. */
export interface RecordPorts {
  /** Records of the four types at exactly this name, all pages. */
  list(zone: Zone, fqdn: string): Promise<readonly StoredRecord[]>;
  /**
   * May refuse an existing record.
   *
   * @returns the record as the API stored it; undefined when the API returns another type
   */
  create(zone: Zone, record: DnsRecord): Promise<StoredRecord | undefined>;
  /** Deleting a missing record succeeds. */
  delete(zone: Zone, stored: StoredRecord): Promise<void>;
}

/** The three changes of `ProviderSession` over single records. Not atomic: the caller must hold the zone's lock. */
export function recordChanges(
  ports: RecordPorts,
  signal: AbortSignal,
): Pick<ProviderSession, 'add' | 'replace' | 'remove'> {
  const deleteAll = async (zone: Zone, records: readonly StoredRecord[]): Promise<void> => {
    for (const [nth, record] of records.entries()) {
      signal.throwIfAborted();
      await ports.delete(zone, record).catch((error: unknown) => {
        throw nth > 0 ? afterChange(error) : error;
      });
    }
  };
  const create = async (zone: Zone, record: DnsRecord): Promise<void> => {
    const stored = await createdOrThere(ports, zone, record);
    if (stored === undefined) throw new ProviderFault('unavailable', 'The provider made another record.');
    if (isSame(stored, record)) return;
    // Some APIs store backslashes, quotes and long texts as another value; such a record could not be found again.
    await ports.delete(zone, stored);
    throw new ProviderFault('rejected', `The provider does not store this ${record.type} value as it is.`);
  };
  return {
    async add(zone, record) {
      const there = await ports.list(zone, record.fqdn);
      if (there.some((stored) => isSame(stored, record))) return 'existed';
      if (there.some(({ type }) => type === 'CNAME' || record.type === 'CNAME')) throw cnameConflict(record);
      await create(zone, record);
      return 'created';
    },
    async replace(zone, record) {
      const there = await ports.list(zone, record.fqdn);
      const kept = there.find((stored) => isSame(stored, record));
      // Deletes first, because a CNAME is refused beside other records.
      const others = there.filter((stored) => stored !== kept);
      await deleteAll(zone, others);
      if (kept !== undefined) return 'existed';
      await create(zone, record).catch((error: unknown) => {
        throw others.length > 0 ? afterChange(error) : error;
      });
      return 'created';
    },
    async remove(zone, record) {
      const there = await ports.list(zone, record.fqdn);
      // More than one when two copies of this process added it at the same moment.
      await deleteAll(
        zone,
        there.filter((stored) => isSame(stored, record)),
      );
    },
  };
}

/**
 * A refusal may mean that the record exists: created by a copy of this process, or by an attempt without a response.
 */
async function createdOrThere(
  ports: RecordPorts,
  zone: Zone,
  record: DnsRecord,
): Promise<StoredRecord | undefined> {
  try {
    return await ports.create(zone, record);
  } catch (error) {
    if (!(error instanceof ProviderFault) || !refusals.includes(error.kind)) throw error;
    const there = await ports.list(zone, record.fqdn).catch((): readonly StoredRecord[] => []);
    const found = there.find((stored) => isSame(stored, record));
    if (found === undefined) throw error;
    return found;
  }
}

const refusals: readonly ProviderFaultKind[] = ['conflict', 'rejected'];

const isSame = (stored: StoredRecord, { type, value }: DnsRecord): boolean =>
  stored.type === type && stored.value === value;

export const isRecordType = (text: string): text is RecordType =>
  (recordTypes as readonly string[]).includes(text);
