import { CLASS, QTYPE } from './codes';
import { HEADER_BYTES, readName, type DnsName } from './name';
import { WireFault } from './wire-fault';

export interface RequestHeader {
  readonly id: number;
  readonly opcode: number;
  readonly recursionDesired: boolean;
  readonly checkingDisabled: boolean;
  /** Number of records in each section: question, answer, authority, additional. */
  readonly counts: readonly [number, number, number, number];
}

export interface Question {
  readonly name: DnsName;
  readonly type: number;
  readonly class: number;
  /** As received, echoed byte by byte: resolvers check the case that they chose (0x20). */
  readonly bytes: Buffer;
}

export interface Edns {
  readonly version: number;
  /** Maximum UDP message that the client accepts, in bytes. */
  readonly udpPayload: number;
  readonly dnssecOk: boolean;
}

export interface Query {
  readonly question: Question;
  readonly edns?: Edns;
}

/** One record of a message, its content undecoded. */
export interface WireRecord {
  readonly name: DnsName;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly contentAt: number;
  readonly contentLength: number;
  readonly next: number;
}

/**
 * `undefined` for messages that must not be answered: without a complete header, or a response (which would start a
 * loop).
 */
export function readHeader(message: Buffer): RequestHeader | undefined {
  if (message.length < HEADER_BYTES) return undefined;
  const flags = message.readUInt16BE(2);
  if ((flags & 0x8000) !== 0) return undefined;
  return {
    id: message.readUInt16BE(0),
    opcode: (flags >> 11) & 0xf,
    recursionDesired: (flags & 0x0100) !== 0,
    checkingDisabled: (flags & 0x0010) !== 0,
    counts: [
      message.readUInt16BE(4),
      message.readUInt16BE(6),
      message.readUInt16BE(8),
      message.readUInt16BE(10),
    ],
  };
}

/**
 * The question of a QUERY. Records after it are read only to find the OPT record; the work is bounded by the
 * message's length, not by its counts.
 * @throws WireFault
 */
export function readQuery(message: Buffer, header: RequestHeader): Query {
  const [questions, answers, authorities, additionals] = header.counts;
  if (questions !== 1) throw new WireFault('a query has one question'); // RFC 9619
  const question = readQuestion(message);
  let at = HEADER_BYTES + question.bytes.length;
  for (let n = 0; n < answers + authorities; n++) at = readRecord(message, at).next;
  let edns: Edns | undefined;
  for (let n = 0; n < additionals; n++) {
    const record = readRecord(message, at);
    at = record.next;
    if (record.type !== QTYPE.OPT) continue;
    // RFC 6891 section 6.1.1: one OPT record, at the root.
    if (edns !== undefined || record.name !== '')
      throw new WireFault('more than one OPT, or not at the root');
    edns = readEdns(record);
  }
  if (at !== message.length) throw new WireFault('bytes after the last record');
  return edns === undefined ? { question } : { question, edns };
}

/** @throws WireFault */
export function readQuestion(message: Buffer): Question {
  const { name, next } = readName(message, HEADER_BYTES);
  if (next + 4 > message.length) throw new WireFault('the question runs past the end');
  return {
    name,
    type: message.readUInt16BE(next),
    class: message.readUInt16BE(next + 2),
    bytes: message.subarray(HEADER_BYTES, next + 4),
  };
}

/** @throws WireFault */
export function readRecord(message: Buffer, at: number): WireRecord {
  const { name, next: fixed } = readName(message, at);
  const contentAt = fixed + 10;
  if (contentAt > message.length) throw new WireFault('a record runs past the end');
  const contentLength = message.readUInt16BE(fixed + 8);
  const next = contentAt + contentLength;
  if (next > message.length) throw new WireFault('a record runs past the end');
  return {
    name,
    type: message.readUInt16BE(fixed),
    class: message.readUInt16BE(fixed + 2),
    ttl: message.readUInt32BE(fixed + 4),
    contentAt,
    contentLength,
    next,
  };
}

/** The class of an OPT record is the payload size; its TTL contains version and flags (RFC 6891 section 6.1.3). */
function readEdns(record: WireRecord): Edns {
  return {
    version: (record.ttl >>> 16) & 0xff,
    udpPayload: record.class,
    dnssecOk: (record.ttl & 0x8000) !== 0,
  };
}

export function isInternet(question: Question): boolean {
  return question.class === CLASS.IN;
}
