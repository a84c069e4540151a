import * as packet from 'dns-packet';
import { type AnyAnswer, type Reply, bareReply } from './answer';
import { RCODE, type Rcode } from './codes';
import { HEADER_BYTES } from './name';
import { type ZoneRecord, unwritable } from './record';
import { type Edns, type RequestHeader } from './request';

/** Maximum UDP message without EDNS (RFC 1035 section 4.2.1). */
const PLAIN_UDP_BYTES = 512;
/**
 * Maximum UDP message with EDNS: fits an unfragmented datagram nearly everywhere (DNS Flag Day 2020) and limits
 * amplification.
 */
const EDNS_UDP_BYTES = 1232;
const TCP_BYTES = 65535;

export interface Asked {
  readonly header: RequestHeader;
  /** The question section, echoed byte by byte; absent when unreadable. */
  readonly questionBytes?: Buffer;
  readonly edns?: Edns;
  readonly transport: 'udp' | 'tcp';
  /** Bytes reserved for the signature. Default 0. */
  readonly signatureBytes?: number;
  /** Additional limit of a datagram in bytes. Default: none. */
  readonly udpBytes?: number;
  /** Send no records, only TC. Default false. */
  readonly truncated?: boolean;
}

/**
 * Encodes `reply`. A reply that does not fit a datagram is sent without records but with TC, so that the client
 * retries over TCP, where its address is proven; a partial RRset would be useless (RFC 2181 section 9).
 */
export function encodeReply(asked: Asked, reply: Reply): Buffer {
  if (asked.truncated === true) return encode(asked, reply, true);
  const whole = encode(asked, reply, false);
  if (whole.length <= limitOf(asked)) return whole;
  const glueless = encode(asked, { ...reply, additional: [] }, false);
  if (glueless.length <= limitOf(asked)) return glueless;
  if (asked.transport === 'tcp') return encode(asked, bareReply(RCODE.SERVFAIL), false);
  return encode(asked, { ...reply, answers: [], authority: [], additional: [] }, true);
}

function limitOf({ transport, edns, signatureBytes = 0, udpBytes = Infinity }: Asked): number {
  if (transport === 'tcp') return TCP_BYTES - signatureBytes;
  const datagram =
    edns === undefined
      ? PLAIN_UDP_BYTES
      : Math.min(Math.max(edns.udpPayload, PLAIN_UDP_BYTES), EDNS_UDP_BYTES);
  return Math.min(datagram, udpBytes) - signatureBytes;
}

function encode({ header, questionBytes, edns }: Asked, reply: Reply, truncated: boolean): Buffer {
  const additionals = reply.additional.map(toPacket);
  if (edns !== undefined) additionals.push(optRecord(reply.rcode, edns));
  const message = packet.encode({
    type: 'response',
    id: header.id,
    flags:
      (header.opcode << 11) |
      (reply.authoritative ? packet.AUTHORITATIVE_ANSWER : 0) |
      (truncated ? packet.TRUNCATED_RESPONSE : 0) |
      (header.recursionDesired ? packet.RECURSION_DESIRED : 0) |
      (header.checkingDisabled ? packet.CHECKING_DISABLED : 0) |
      (reply.rcode & 0xf),
    answers: reply.answers.map(toPacket),
    authorities: reply.authority.map(toPacket),
    additionals,
  });
  return questionBytes === undefined ? message : withQuestion(message, questionBytes);
}

/** dns-packet writes no compression pointers, so records may be moved. */
function withQuestion(message: Buffer, question: Buffer): Buffer {
  const whole = Buffer.allocUnsafe(message.length + question.length);
  message.copy(whole, 0, 0, HEADER_BYTES);
  whole.writeUInt16BE(1, 4);
  question.copy(whole, HEADER_BYTES);
  message.copy(whole, HEADER_BYTES + question.length, HEADER_BYTES);
  return whole;
}

function optRecord(rcode: Rcode, edns: Edns): packet.Answer {
  return {
    type: 'OPT',
    name: '.',
    udpPayloadSize: EDNS_UDP_BYTES,
    extendedRcode: rcode >> 4,
    ednsVersion: 0,
    flags: edns.dnssecOk ? packet.DNSSEC_OK : 0,
    flag_do: edns.dnssecOk,
    options: [],
  };
}

/**
 * dns-packet does not validate: a label over 63 bytes becomes a compression pointer, a string over 255 loses its
 * length. So records of any source are checked here.
 * @throws RangeError
 */
function toPacket(record: ZoneRecord | AnyAnswer): packet.Answer {
  if (record.type === 'HINFO') return record;
  const fault = unwritable(record);
  if (fault !== undefined) throw new RangeError(`${record.name} ${record.type}: ${fault}`);
  if (record.type === 'TXT') return { ...record, data: [...record.data] };
  if (record.type !== 'CAA') return record;
  // Its types include only three tags.
  return { ...record, data: { ...record.data, tag: record.data.tag as packet.CaaData['tag'] } };
}
