import { CLASS, QTYPE, RCODE, STORED_TYPE, isMetaType, storedTypeOf, type Rcode } from '../codes';
import { isAtOrBelow, type DnsName } from '../name';
import {
  TTL_LIMIT_S,
  isNewerSerial,
  nextSerial,
  recordsOfType,
  sameRecord,
  unwritable,
  type ZoneRecord,
} from '../record';
import { checkPrerequisites, type ZoneContent } from './prerequisites';
import { type UpdateMessage, type UpdateRecord } from './update-message';

/** Names whose records change, with all their records afterwards, possibly none. */
export type ZoneChanges = ReadonlyMap<DnsName, readonly ZoneRecord[]>;

export type UpdateDecision =
  | { readonly rcode: typeof RCODE.NOERROR; readonly changes: ZoneChanges }
  | { readonly rcode: Exclude<Rcode, typeof RCODE.NOERROR> };

/**
 * The effect of an UPDATE on a zone (RFC 2136 section 3): all changes, or a refusal. The caller has checked that the
 * zone section names this zone. Unsupported types are refused, not ignored.
 */
export function decideUpdate(zone: ZoneContent, message: UpdateMessage): UpdateDecision {
  const verdict = checkPrerequisites(zone, message.prerequisites);
  if (verdict !== RCODE.NOERROR) return { rcode: verdict };
  for (const update of message.updates) {
    const fault = faultOf(zone, update);
    if (fault !== undefined) return { rcode: fault };
  }
  const draft = new Draft(zone);
  for (const update of message.updates) apply(draft, update);
  return { rcode: RCODE.NOERROR, changes: draft.changes() };
}

type Fault = Exclude<Rcode, typeof RCODE.NOERROR>;

/** The prescan of section 3.4.1, and unsupported types and names. */
function faultOf(zone: ZoneContent, update: UpdateRecord): Fault | undefined {
  if (!isAtOrBelow(update.name, zone.apex)) return RCODE.NOTZONE;
  const { type, ttl, empty } = update;
  switch (update.class) {
    case CLASS.IN:
      if (isMetaType(type) || empty || ttl > TTL_LIMIT_S) return RCODE.FORMERR;
      return isHoldable(zone, update) ? undefined : RCODE.REFUSED;
    case CLASS.ANY:
      return ttl !== 0 || !empty || (isMetaType(type) && type !== QTYPE.ANY) ? RCODE.FORMERR : undefined;
    case CLASS.NONE:
      return ttl !== 0 || isMetaType(type) ? RCODE.FORMERR : undefined;
    default:
      return RCODE.FORMERR;
  }
}

/** Rejects records that could not be written to the wire. */
function isHoldable(zone: ZoneContent, { name, ttl, content }: UpdateRecord): boolean {
  if (content === undefined || unwritable({ ...content, name, ttl }) !== undefined) return false;
  return content.type !== 'CNAME' || name !== zone.apex;
}

function apply(draft: Draft, update: UpdateRecord): void {
  const { name, content } = update;
  if (update.class === CLASS.IN) {
    if (content !== undefined) draft.add({ ...content, name, ttl: update.ttl });
  } else if (update.class === CLASS.NONE) {
    if (content !== undefined) draft.remove({ ...content, name, ttl: 0 });
  } else if (update.type === QTYPE.ANY) {
    draft.removeWhere(name, () => true);
  } else {
    const type = storedTypeOf(update.type);
    draft.removeWhere(name, (record) => record.type === type);
  }
}

/** The changed zone, name by name (section 3.4.2). */
export class Draft {
  readonly #after = new Map<DnsName, readonly ZoneRecord[]>();
  #serialSet = false;

  constructor(private readonly zone: ZoneContent) {}

  recordsAt(name: DnsName): readonly ZoneRecord[] {
    return this.#after.get(name) ?? this.zone.recordsAt(name) ?? [];
  }

  /**
   * A CNAME beside other data is ignored, and other data beside a CNAME; a second CNAME or SOA replaces the first
   * (3.4.2.2).
   */
  add(record: ZoneRecord): void {
    const held = this.recordsAt(record.name);
    if (held.some((other) => (other.type === 'CNAME') !== (record.type === 'CNAME'))) return;
    if (record.type === 'SOA') {
      const current = recordsOfType(held, 'SOA')[0];
      if (record.name !== this.zone.apex || !current) return;
      if (!isNewerSerial(record.data.serial, current.data.serial)) return;
      this.#serialSet = true;
    }
    const replacesType = record.type === 'CNAME' || record.type === 'SOA';
    const kept = held
      .filter((other) => other.type !== record.type || (!replacesType && !sameRecord(other, record)))
      // Records of one type at one name share a TTL (RFC 2181 section 5.2): the newest one wins.
      .map((other) => (other.type === record.type ? { ...other, ttl: record.ttl } : other));
    this.#put(record.name, [...kept, record]);
  }

  remove(record: ZoneRecord): void {
    this.removeWhere(record.name, (other) => sameRecord(other, record));
  }

  /** The zone keeps its SOA and at least one NS at the apex (sections 3.4.2.3 and 3.4.2.4). */
  removeWhere(name: DnsName, matches: (record: ZoneRecord) => boolean): void {
    const held = this.recordsAt(name);
    const kept = held.filter((record) => !matches(record));
    if (name === this.zone.apex) {
      const lost = held.filter((record) => !kept.includes(record));
      kept.push(...recordsOfType(lost, 'SOA'));
      if (recordsOfType(kept, 'NS').length === 0) kept.push(...recordsOfType(lost, 'NS'));
    }
    if (kept.length < held.length) this.#put(name, kept);
  }

  /** Increments the SOA serial when anything changed and the message did not increment it itself (section 3.6). */
  changes(): ZoneChanges {
    const changed = [...this.#after].filter(
      ([name, records]) => !unchanged(this.zone.recordsAt(name), records),
    );
    if (changed.length === 0) return new Map();
    const after = new Map(changed);
    if (!this.#serialSet) after.set(this.zone.apex, this.recordsAt(this.zone.apex).map(withNextSerial));
    return after;
  }

  #put(name: DnsName, records: readonly ZoneRecord[]): void {
    this.#after.set(name, records);
  }
}

function unchanged(before: readonly ZoneRecord[] = [], after: readonly ZoneRecord[]): boolean {
  return (
    before.length === after.length &&
    after.every((record) => before.some((other) => other.ttl === record.ttl && sameRecord(other, record)))
  );
}

function withNextSerial(record: ZoneRecord): ZoneRecord {
  if (record.type !== 'SOA') return record;
  return { ...record, data: { ...record.data, serial: nextSerial(record.data.serial) } };
}

/** Whether the zone section is well-formed (section 3.1): it names a zone by its SOA, in the Internet class. */
export function isZoneSectionValid({ zone }: UpdateMessage): boolean {
  return zone.type === STORED_TYPE.SOA && zone.class === CLASS.IN;
}
