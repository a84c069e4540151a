import { CLASS, QTYPE, RCODE, storedTypeOf, type Rcode } from '../codes';
import { isAtOrBelow, type DnsName } from '../name';
import { recordsOfType, sameRecord, type ZoneRecord } from '../record';
import { type UpdateRecord } from './update-message';

/**
 * The current content of the zone. A name that only has names below it has no records, so it is not "in use" (RFC
 * 2136 section 2.4.4).
 */
export interface ZoneContent {
  readonly apex: DnsName;
  recordsAt(name: DnsName): readonly ZoneRecord[] | undefined;
}

/** RFC 2136 section 3.2: the first unmet prerequisite decides. NOERROR when all are met. */
export function checkPrerequisites(zone: ZoneContent, prerequisites: readonly UpdateRecord[]): Rcode {
  const expected = new Map<string, UpdateRecord[]>();
  for (const prerequisite of prerequisites) {
    if (prerequisite.ttl !== 0) return RCODE.FORMERR;
    if (!isAtOrBelow(prerequisite.name, zone.apex)) return RCODE.NOTZONE;
    if (prerequisite.class === CLASS.IN) {
      if (prerequisite.type === QTYPE.ANY) return RCODE.FORMERR;
      const key = `${prerequisite.type} ${prerequisite.name}`;
      expected.set(key, [...(expected.get(key) ?? []), prerequisite]);
      continue;
    }
    const verdict = checkPresence(zone, prerequisite);
    if (verdict !== RCODE.NOERROR) return verdict;
  }
  const allEqual = [...expected.values()].every((rrset) => equalsRrset(zone, rrset));
  return allEqual ? RCODE.NOERROR : RCODE.NXRRSET;
}

/** The four kinds without a value: class ANY requires presence, NONE absence; type ANY means the name. */
function checkPresence(zone: ZoneContent, { name, type, class: condition, empty }: UpdateRecord): Rcode {
  if (!empty || (condition !== CLASS.ANY && condition !== CLASS.NONE)) return RCODE.FORMERR;
  const present = recordsAt(zone, name, type).length > 0;
  if (present === (condition === CLASS.ANY)) return RCODE.NOERROR;
  if (type === QTYPE.ANY) return present ? RCODE.YXDOMAIN : RCODE.NXDOMAIN;
  return present ? RCODE.YXRRSET : RCODE.NXRRSET;
}

/** The fifth kind, section 2.4.2: the RRset exists with exactly these values, in any order, whatever the TTLs. */
function equalsRrset(zone: ZoneContent, rrset: readonly UpdateRecord[]): boolean {
  const [first] = rrset;
  if (first === undefined) return true;
  const held = recordsAt(zone, first.name, first.type);
  const wanted = rrset.flatMap(({ name, content }) =>
    content === undefined ? [] : [{ ...content, name, ttl: 0 }],
  );
  return (
    wanted.length === rrset.length &&
    held.every((record) => wanted.some((other) => sameRecord(record, other))) &&
    wanted.every((record) => held.some((other) => sameRecord(record, other)))
  );
}

function recordsAt(zone: ZoneContent, name: DnsName, type: number): readonly ZoneRecord[] {
  const all = zone.recordsAt(name) ?? [];
  if (type === QTYPE.ANY) return all;
  const stored = storedTypeOf(type);
  return stored === undefined ? [] : recordsOfType(all, stored);
}
