import {
  Draft,
  MemoryZone,
  MemoryZones,
  recordsOfType,
  sameRecord,
  type DnsName,
  type ZoneRecord,
} from '@certwright/dns-authority';
import { apexRecords } from './apex-records';
import { type StoredZones } from './data-file';
import { ControlFault } from './control-fault';

/** Maximum number of records that `records()` lists. */
export const MAX_LISTED_RECORDS = 1_000;

/** The demo's zones and their changes. */
export class DemoZones {
  readonly zones: MemoryZones;
  /** Zones in the data file that are not configured now; they are kept. */
  readonly #dormant: StoredZones;

  /** @param save called after each change; a change is acknowledged once it resolves */
  constructor(
    apexes: readonly DnsName[],
    dnsHost: string,
    stored: StoredZones,
    save: (zones: () => StoredZones) => Promise<void>,
  ) {
    const zones = apexes.map((apex) => new MemoryZone(apex, stored.get(apex) ?? apexRecords(apex, dnsHost)));
    this.#dormant = new Map([...stored].filter(([apex]) => !apexes.includes(apex)));
    this.zones = new MemoryZones(zones, { updatable: apexes, onChange: () => save(() => this.stored()) });
  }

  stored(): StoredZones {
    const live = [...this.zones.zones()].map((zone) => [zone.apex, [...zone.records()]] as const);
    return new Map([...this.#dormant, ...live]);
  }

  /** @returns whether it is new; publishing a record again sets its TTL @throws ControlFault */
  async publish(record: ZoneRecord): Promise<boolean> {
    const zone = this.#zoneOf(record.name);
    const held = zone.recordsAt(record.name) ?? [];
    const conflict = conflictOf(record, held);
    if (conflict !== undefined) throw new ControlFault('conflict', conflict, 'name');
    const isNew = !held.some((other) => sameRecord(other, record));
    const draft = new Draft(zone);
    draft.add(record);
    if (!(await this.zones.apply(zone, draft.changes()))) {
      throw new ControlFault('conflict', `The zone ${zone.apex} is full.`, 'name');
    }
    return isNew;
  }

  /** @returns number of removed records; 0 is a success too @throws ControlFault */
  async remove(name: DnsName, matches: (record: ZoneRecord) => boolean): Promise<number> {
    const zone = this.#zoneOf(name);
    const before = zone.recordsAt(name)?.length ?? 0;
    const draft = new Draft(zone);
    draft.removeWhere(name, matches);
    await this.zones.apply(zone, draft.changes());
    return before - (zone.recordsAt(name)?.length ?? 0);
  }

  /** Records at the name, or the first `MAX_LISTED_RECORDS` of all zones. @throws ControlFault */
  records(name?: DnsName): readonly ZoneRecord[] {
    if (name !== undefined) return this.#zoneOf(name).recordsAt(name) ?? [];
    const all: ZoneRecord[] = [];
    for (const zone of this.zones.zones()) {
      for (const record of zone.records()) if (all.push(record) === MAX_LISTED_RECORDS) return all;
    }
    return all;
  }

  #zoneOf(name: DnsName): MemoryZone {
    const zone = this.zones.read(name);
    if (zone !== undefined) return zone;
    const served = [...this.zones.zones()].map(({ apex }) => apex).join(', ');
    throw new ControlFault('invalid_value', `${name} is not in one of the zones: ${served}.`, 'name');
  }
}

/**
 * A CNAME must be the only record at a name (RFC 2181 section 10.1). Reported here; in an update message it would be
 * ignored.
 */
function conflictOf(record: ZoneRecord, held: readonly ZoneRecord[]): string | undefined {
  const [alias] = recordsOfType(held, 'CNAME');
  if (alias !== undefined && !sameRecord(alias, record)) {
    return `${record.name} is a CNAME to ${alias.data}, and a CNAME must be the only record of a name; DELETE it first.`;
  }
  if (record.type === 'CNAME' && alias === undefined && held.length > 0) {
    return `${record.name} has other records, and a CNAME must be the only record of a name; DELETE them first.`;
  }
  return undefined;
}
