import { CLASS, QTYPE } from '../codes';
import { HEADER_BYTES, nameBytes, readName, type DnsName } from '../name';
import { readRecord, type WireRecord } from '../request';
import { WireFault } from '../wire-fault';

/** RFC 8945 section 4.2. */
export interface TsigRecord {
  readonly keyName: DnsName;
  readonly algorithm: DnsName;
  /** Seconds since 1970, 48 bits. */
  readonly timeSigned: number;
  /** Seconds, in both directions. */
  readonly fudge: number;
  readonly mac: Buffer;
  readonly originalId: number;
  readonly error: number;
  readonly otherData: Buffer;
}

export interface SignedMessage {
  /** The message as signed: without the record, and with the original id. */
  readonly message: Buffer;
  readonly record: TsigRecord;
}

/**
 * Removes the TSIG record from a message; `undefined` when there is none. Section 5.1: the record is the last of the
 * additional section, and the only one.
 * @throws WireFault
 */
export function removeTsig(message: Buffer): SignedMessage | undefined {
  const found = findTsig(message);
  if (found === undefined) return undefined;
  const { at, wire } = found;
  const record = readTsig(message, wire);
  const unsigned = Buffer.from(message.subarray(0, at));
  unsigned.writeUInt16BE(record.originalId, 0);
  unsigned.writeUInt16BE(unsigned.readUInt16BE(10) - 1, 10);
  return { message: unsigned, record };
}

/** The work is bounded by the message's length, regardless of its counts. */
function findTsig(message: Buffer): { at: number; wire: WireRecord } | undefined {
  if (message.length < HEADER_BYTES) throw new WireFault('no whole header');
  const [questions = 0, answers = 0, authorities = 0, additionals = 0] = [4, 6, 8, 10].map((offset) =>
    message.readUInt16BE(offset),
  );
  let at = HEADER_BYTES;
  for (let n = 0; n < questions; n++) {
    at = readName(message, at).next + 4;
    if (at > message.length) throw new WireFault('the question runs past the end');
  }
  const records = answers + authorities + additionals;
  for (let n = 1; n <= records; n++) {
    const wire = readRecord(message, at);
    if (wire.type === QTYPE.TSIG) {
      if (n < records || additionals === 0) throw new WireFault('a TSIG that is not the last record');
      if (wire.next !== message.length) throw new WireFault('bytes after the last record');
      return { at, wire };
    }
    at = wire.next;
  }
  return undefined;
}

/** Time, fudge and MAC size after the algorithm's name; id, error and length of the rest after the MAC. */
const BEFORE_MAC_BYTES = 10;
const AFTER_MAC_BYTES = 6;

function readTsig(message: Buffer, wire: WireRecord): TsigRecord {
  if (wire.class !== CLASS.ANY || wire.ttl !== 0) throw new WireFault('a TSIG of another class or TTL');
  const { name: algorithm, next: at } = readName(message, wire.contentAt);
  if (at - wire.contentAt !== nameBytes(algorithm).length) throw new WireFault('a compressed algorithm name');
  const macAt = at + BEFORE_MAC_BYTES;
  if (macAt > wire.next) throw new WireFault('a TSIG that is cut');
  const macEnd = macAt + message.readUInt16BE(at + 8);
  const otherAt = macEnd + AFTER_MAC_BYTES;
  if (otherAt > wire.next || otherAt + message.readUInt16BE(macEnd + 4) !== wire.next) {
    throw new WireFault('a TSIG of another length than announced');
  }
  return {
    keyName: wire.name,
    algorithm,
    timeSigned: message.readUIntBE(at, 6),
    fudge: message.readUInt16BE(at + 6),
    mac: message.subarray(macAt, macEnd),
    originalId: message.readUInt16BE(macEnd),
    error: message.readUInt16BE(macEnd + 2),
    otherData: message.subarray(otherAt, wire.next),
  };
}

/** Appends the record to the message. */
export function appendTsig(message: Buffer, record: TsigRecord): Buffer {
  const content = Buffer.concat([
    nameBytes(record.algorithm),
    timeBytes(record.timeSigned),
    twoBytes(record.fudge, record.mac.length),
    record.mac,
    twoBytes(record.originalId, record.error, record.otherData.length),
    record.otherData,
  ]);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(QTYPE.TSIG, 0);
  fixed.writeUInt16BE(CLASS.ANY, 2);
  fixed.writeUInt16BE(content.length, 8);
  const signed = Buffer.concat([message, nameBytes(record.keyName), fixed, content]);
  signed.writeUInt16BE(signed.readUInt16BE(10) + 1, 10);
  return signed;
}

export function timeBytes(seconds: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(seconds, 0, 6);
  return bytes;
}

export function twoBytes(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  values.forEach((value, n) => bytes.writeUInt16BE(value, 2 * n));
  return bytes;
}
