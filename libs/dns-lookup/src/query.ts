import { randomBytes, randomInt } from 'node:crypto';
import * as packet from 'dns-packet';
import { type LookUpType, RCODE_NXDOMAIN } from './look-up';

const HEADER_BYTES = 12;
/** Type and class, after the name. */
const QUESTION_TAIL_BYTES = 4;
/** Fits an unfragmented datagram on nearly all paths (DNS Flag Day 2020). */
const UDP_RESPONSE_BYTES = 1232;

export interface DnsQuery {
  readonly message: Buffer;
  readonly id: number;
  /** Question section as sent, in its letter case. */
  readonly question: Buffer;
}

export interface QuestionStyle {
  /** Letters in random case (0x20): a forger must guess them too. */
  readonly mixedCase: boolean;
  readonly edns: boolean;
  /** False for queries to authoritative servers: only their own data counts. Default: true. */
  readonly recursionDesired?: boolean;
}

/** @param name in normal form, checked */
export function buildQuery(name: string, type: LookUpType, style: QuestionStyle): DnsQuery {
  const id = randomInt(0x10000);
  const message = packet.encode({
    type: 'query',
    id,
    flags: style.recursionDesired === false ? 0 : packet.RECURSION_DESIRED,
    questions: [{ name: style.mixedCase ? mixCase(name) : name, type, class: 'IN' }],
    additionals: style.edns ? [optRecord] : [],
  });
  // The name's text lacks its first length byte and the root.
  const end = HEADER_BYTES + name.length + 2 + QUESTION_TAIL_BYTES;
  return { message, id, question: message.subarray(HEADER_BYTES, end) };
}

const optRecord: packet.OptAnswer = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: UDP_RESPONSE_BYTES,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};

function mixCase(name: string): string {
  const random = randomBytes(name.length);
  let mixed = '';
  for (let at = 0; at < name.length; at++) {
    const letter = name.charAt(at);
    mixed += ((random[at] ?? 0) & 1) === 1 ? letter.toUpperCase() : letter;
  }
  return mixed;
}

/**
 * Whether a message is the response to the query: `other_case` when only the letter case differs, `no` when it belongs to
 * another query (late or forged). An error without any question cannot be distinguished, and is accepted; not NXDOMAIN,
 * which says something about the name: a forger need not guess its letter case.
 */
export function matchQuery(response: Buffer, { id, question }: DnsQuery): 'yes' | 'other_case' | 'no' {
  if (response.length < HEADER_BYTES || response.readUInt16BE(0) !== id) return 'no';
  const flags = response.readUInt16BE(2);
  const isResponseToQuery = (flags & 0x8000) !== 0 && (flags & 0x7800) === 0;
  if (!isResponseToQuery) return 'no';
  const questions = response.readUInt16BE(4);
  const rcode = flags & 0xf;
  const isError = rcode !== 0 && rcode !== RCODE_NXDOMAIN;
  if (questions === 0) return isError && response.length === HEADER_BYTES ? 'yes' : 'no';
  if (questions !== 1) return 'no';
  const echoed = response.subarray(HEADER_BYTES, HEADER_BYTES + question.length);
  if (echoed.equals(question)) return 'yes';
  return lowerCase(echoed) === lowerCase(question) ? 'other_case' : 'no';
}

/** Length bytes (at most 63) and the tail's numbers are below the letters or equal on both sides. */
function lowerCase(bytes: Buffer): string {
  return bytes.toString('latin1').replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

export function isTruncated(response: Buffer): boolean {
  return (response.readUInt16BE(2) & 0x0200) !== 0;
}

export function isAuthoritative(response: Buffer): boolean {
  return (response.readUInt16BE(2) & 0x0400) !== 0;
}
