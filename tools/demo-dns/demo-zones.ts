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

/** Records that `records()` lists at most. */
export const LISTED_RECORDS = 1_000;

/** The demo's zones, and the changes that people make to them. */
export class DemoZones {
  readonly zones: MemoryZones;
  /** Zones in the data file that are not served now; they are kept. */
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

  /** @returns whether it is new; publishing a record twice sets its TTL @throws ControlFault */
  async publish(record: ZoneRecord): Promise<boolean> {
    const zone = this.#zoneOf(record.name);
    const held = zone.recordsAt(record.name) ?? [];
    const inTheWay = conflictOf(record, held);
    if (inTheWay !== undefined) throw new ControlFault('conflict', inTheWay, 'name');
    const isNew = !held.some((other) => sameRecord(other, record));
    const draft = new Draft(zone);
    draft.add(record);
    if (!(await this.zones.apply(zone, draft.changes()))) {
      throw new ControlFault('conflict', `The zone ${zone.apex} is full.`, 'name');
    }
    return isNew;
  }

  /** @returns how many records are gone; none is a success too @throws ControlFault */
  async remove(name: DnsName, matches: (record: ZoneRecord) => boolean): Promise<number> {
    const zone = this.#zoneOf(name);
    const before = zone.recordsAt(name)?.length ?? 0;
    const draft = new Draft(zone);
    draft.removeWhere(name, matches);
    await this.zones.apply(zone, draft.changes());
    return before - (zone.recordsAt(name)?.length ?? 0);
  }

  /** Those at the name, or of all zones the first `LISTED_RECORDS`. @throws ControlFault */
  records(name?: DnsName): readonly ZoneRecord[] {
    if (name !== undefined) return this.#zoneOf(name).recordsAt(name) ?? [];
    const all: ZoneRecord[] = [];
    for (const zone of this.zones.zones()) {
      for (const record of zone.records()) if (all.push(record) === LISTED_RECORDS) return all;
    }
    return all;
  }

  #zoneOf(name: DnsName): MemoryZone {
    const zone = this.zones.read(name);
    if (zone !== undefined) return zone;
    const served = [...this.zones.zones()].map(({ apex }) => apex).join(', ');
    throw new ControlFault(
      'invalid_value',
      `${name} is in none of the zones served here: ${served}.`,
      'name',
    );
  }
}

/**
 * One CNAME at a name and nothing beside it (RFC 2181 section 10.1): told here, where an update message would be
 * ignored.
 */
function conflictOf(record: ZoneRecord, held: readonly ZoneRecord[]): string | undefined {
  const [alias] = recordsOfType(held, 'CNAME');
  if (alias !== undefined && !sameRecord(alias, record)) {
    return `${record.name} is a CNAME to ${alias.data}, and nothing may stand beside a CNAME; DELETE it first.`;
  }
  if (record.type === 'CNAME' && alias === undefined && held.length > 0) {
    return `${record.name} has other records, and nothing may stand beside a CNAME; DELETE them first.`;
  }
  return undefined;
}
