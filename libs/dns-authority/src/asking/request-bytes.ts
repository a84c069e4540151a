import { CLASS, OPCODE, QTYPE, STORED_TYPE, type StoredType } from '../codes';
import { HEADER_BYTES, nameBytes, type DnsName } from '../name';
import { type ZoneRecord } from '../record';
import { recordBytes, written, type WrittenRecord } from './record-bytes';

/** A condition of an UPDATE; if one is false, nothing is changed (RFC 2136 section 2.4). */
export type Prerequisite =
  | { readonly holds: 'name in use'; readonly name: DnsName }
  | { readonly holds: 'no such type'; readonly name: DnsName; readonly type: number };

/** RFC 2136 section 2.5. */
export type UpdateStep =
  | { readonly step: 'add'; readonly record: ZoneRecord }
  | { readonly step: 'remove'; readonly record: ZoneRecord }
  | { readonly step: 'remove type'; readonly name: DnsName; readonly type: StoredType };

export interface Update {
  readonly id: number;
  /** The apex of the zone. */
  readonly zone: DnsName;
  readonly prerequisites: readonly Prerequisite[];
  /** In this order, all or none. */
  readonly steps: readonly UpdateStep[];
}

/** @throws RangeError for a record that cannot be written */
export function updateBytes({ id, zone, prerequisites, steps }: Update): Buffer {
  const records = [...prerequisites.map(prerequisiteRecord), ...steps.map(stepRecord)];
  return Buffer.concat([
    header(id, OPCODE.UPDATE << 11, [1, prerequisites.length, steps.length, 0]),
    question(zone, STORED_TYPE.SOA),
    ...records.map(recordBytes),
  ]);
}

/** A query to an authoritative server: without EDNS and recursion. */
export function queryBytes(id: number, name: DnsName, type: StoredType): Buffer {
  return Buffer.concat([header(id, OPCODE.QUERY, [1, 0, 0, 0]), question(name, STORED_TYPE[type])]);
}

function header(id: number, flags: number, counts: readonly number[]): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  [id, flags, ...counts].forEach((value, n) => bytes.writeUInt16BE(value, 2 * n));
  return bytes;
}

function question(name: DnsName, type: number): Buffer {
  const tail = Buffer.alloc(4);
  tail.writeUInt16BE(type, 0);
  tail.writeUInt16BE(CLASS.IN, 2);
  return Buffer.concat([nameBytes(name), tail]);
}

function prerequisiteRecord(prerequisite: Prerequisite): WrittenRecord {
  const { name } = prerequisite;
  return prerequisite.holds === 'name in use'
    ? { name, type: QTYPE.ANY, class: CLASS.ANY, ttl: 0 }
    : { name, type: prerequisite.type, class: CLASS.NONE, ttl: 0 };
}

function stepRecord(step: UpdateStep): WrittenRecord {
  if (step.step === 'remove type') {
    return { name: step.name, type: STORED_TYPE[step.type], class: CLASS.ANY, ttl: 0 };
  }
  return written(step.record, step.step === 'add' ? 'add' : 'delete');
}
