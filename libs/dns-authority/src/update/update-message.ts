import { QTYPE, storedTypeOf } from '../codes';
import { HEADER_BYTES, type DnsName } from '../name';
import { type RecordData } from '../record';
import { readQuestion, readRecord, type RequestHeader } from '../request';
import { WireFault } from '../wire-fault';
import { readContent } from '../record-content';

/**
 * One record of an UPDATE message. Its class determines the operation (RFC 2136 sections 2.4 and 2.5). Not decoded
 * with dns-packet, which treats class NONE as 0 and requires content.
 */
export interface UpdateRecord {
  readonly name: DnsName;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  /** Whether the record has no content. */
  readonly empty: boolean;
  /** Absent when empty or of an unsupported type. */
  readonly content?: RecordData;
}

export interface UpdateMessage {
  readonly zone: { readonly name: DnsName; readonly type: number; readonly class: number };
  readonly prerequisites: readonly UpdateRecord[];
  readonly updates: readonly UpdateRecord[];
  /** It has an unverified TSIG or SIG(0); a valid TSIG has been removed before. */
  readonly signed: boolean;
}

const TYPE_SIG = 24;

/**
 * The sections of RFC 2136 section 2: zone, prerequisite, update, additional, in the places of a query's four.
 * @throws WireFault
 */
export function readUpdate(message: Buffer, header: RequestHeader): UpdateMessage {
  const [zones, prerequisiteCount, updateCount, additionalCount] = header.counts;
  if (zones !== 1) throw new WireFault('an update names one zone'); // section 3.1.1
  const { bytes, ...zone } = readQuestion(message);
  let at = HEADER_BYTES + bytes.length;
  const section = (count: number) => {
    const records: UpdateRecord[] = [];
    for (let n = 0; n < count; n++) {
      const { record, next } = readUpdateRecord(message, at);
      records.push(record);
      at = next;
    }
    return records;
  };
  const prerequisites = section(prerequisiteCount);
  const updates = section(updateCount);
  let signed = false;
  for (let n = 0; n < additionalCount; n++) {
    const { type, next } = readRecord(message, at);
    signed ||= type === QTYPE.TSIG || type === TYPE_SIG;
    at = next;
  }
  if (at !== message.length) throw new WireFault('bytes after the last record');
  return { zone, prerequisites, updates, signed };
}

function readUpdateRecord(message: Buffer, at: number): { record: UpdateRecord; next: number } {
  const wire = readRecord(message, at);
  const { name, type, class: recordClass, ttl, next } = wire;
  const empty = wire.contentLength === 0;
  const stored = storedTypeOf(type);
  const record = { name, type, class: recordClass, ttl, empty };
  if (empty || stored === undefined) return { record, next };
  return { record: { ...record, content: readContent(message, stored, wire.contentAt, next) }, next };
}
