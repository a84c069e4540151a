import { pathBelow, type DnsName } from '../name';
import { recordsOfType, type RecordOf, type ZoneRecord } from '../record';
import { type ZoneSlice } from '../source';
import { type ZoneChanges } from '../update/update';

/** A zone in memory. Invariants: the apex has a SOA record; no stored list is empty. */
export class MemoryZone implements ZoneSlice {
  readonly apex: DnsName;
  readonly #records = new Map<DnsName, readonly ZoneRecord[]>();
  /**
   * Number of names with records below a name: a name without records exists while this is positive (RFC 4592 section
   * 2.2.2).
   */
  readonly #namesBelow = new Map<DnsName, number>();
  #size = 0;

  /** @throws RangeError without a SOA at the apex, or for a record outside the zone. */
  constructor(apex: DnsName, records: readonly ZoneRecord[]) {
    this.apex = apex;
    const byName = new Map<DnsName, ZoneRecord[]>();
    for (const record of records) byName.set(record.name, [...(byName.get(record.name) ?? []), record]);
    if (recordsOfType(byName.get(apex) ?? [], 'SOA').length !== 1) {
      throw new RangeError(`The zone ${apex} needs one SOA record at its apex.`);
    }
    const outside = records.find(({ name }) => name !== apex && !name.endsWith('.' + apex));
    if (outside) throw new RangeError(`${outside.name} is not in the zone ${apex}.`);
    this.commit(byName);
  }

  /** Records in the zone. */
  get size(): number {
    return this.#size;
  }

  get soa(): RecordOf<'SOA'> {
    const [soa] = recordsOfType(this.#records.get(this.apex) ?? [], 'SOA');
    if (soa === undefined) throw new Error(`The zone ${this.apex} has lost its SOA record.`);
    return soa;
  }

  recordsAt(name: DnsName): readonly ZoneRecord[] | undefined {
    return this.#records.get(name) ?? (this.#namesBelow.has(name) ? [] : undefined);
  }

  *records(): IterableIterator<ZoneRecord> {
    for (const records of this.#records.values()) yield* records;
  }

  /** Synchronous, so that no reply sees half of the changes. */
  commit(changes: ZoneChanges): void {
    for (const [name, after] of changes) {
      const before = this.#records.get(name) ?? [];
      this.#size += after.length - before.length;
      if (after.length > 0) this.#records.set(name, after);
      else this.#records.delete(name);
      const step = Math.sign(after.length) - Math.sign(before.length);
      if (step !== 0) this.#countBelow(name, step);
    }
  }

  #countBelow(name: DnsName, step: number): void {
    for (const ancestor of pathBelow(this.apex, name)) {
      if (ancestor === name) continue;
      const count = (this.#namesBelow.get(ancestor) ?? 0) + step;
      if (count > 0) this.#namesBelow.set(ancestor, count);
      else this.#namesBelow.delete(ancestor);
    }
  }
}
