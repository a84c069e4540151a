import { isIPv4 } from 'node:net';
import { bareReply, type Reply } from './answer';
import { OPCODE, RCODE, type Rcode } from './codes';
import { encodeReply, type Asked } from './reply-encoding';
import { readHeader, readQuery, readQuestion, type Question, type RequestHeader } from './request';
import { resolve } from './resolve';
import { type RecordSource, type UpdateTarget } from './source';
import { readUpdate } from './update/update-message';
import { WireFault } from './wire-fault';

export interface Peer {
  /** IP address. */
  readonly address: string;
  readonly port: number;
  readonly transport: 'udp' | 'tcp';
}

/** What one message was answered with, for logs and counters. */
export interface Answered {
  readonly peer: Peer;
  readonly opcode: number;
  /** The first question, where it could be read: the name in normal form and the type's number. */
  readonly question?: { readonly name: string; readonly type: number };
  readonly rcode: Rcode;
  readonly octets: number;
  /** Why it was SERVFAIL: what the source or the update target threw. */
  readonly error?: unknown;
}

export interface ResponderOptions {
  readonly source: RecordSource;
  /** Without it UPDATE is answered NOTIMP. */
  readonly updates?: UpdateTarget;
  /** How long source or update target may take before the answer is SERVFAIL, in milliseconds. Default 2,000. */
  readonly sourceTimeoutMs?: number;
  /** Called after each answer; must not throw. */
  readonly onAnswered?: (answered: Answered) => void;
}

const DEFAULT_SOURCE_TIMEOUT_MS = 2_000;

interface Decided {
  readonly asked: Asked;
  readonly reply: Reply;
  readonly question?: Question;
  readonly error?: unknown;
}

/** Turns the octets of one request into the octets of its response, whatever they are. */
export class Responder {
  constructor(private readonly options: ResponderOptions) {}

  /** Never rejects. `undefined`: not to be answered. */
  async respond(message: Buffer, peer: Peer): Promise<Buffer | undefined> {
    const header = readHeader(message);
    if (header === undefined) return undefined;
    const decided = await this.#decide(message, header, peer);
    let { error } = decided;
    let rcode = decided.reply.rcode;
    let response: Buffer;
    try {
      response = encodeReply(decided.asked, decided.reply);
    } catch (fault) {
      error = fault;
      rcode = RCODE.SERVFAIL;
      response = encodeReply(decided.asked, bareReply(rcode));
    }
    this.options.onAnswered?.({
      peer,
      opcode: header.opcode,
      rcode,
      octets: response.length,
      ...(decided.question && { question: { name: decided.question.name, type: decided.question.type } }),
      ...(error !== undefined && { error }),
    });
    return response;
  }

  async #decide(message: Buffer, header: RequestHeader, peer: Peer): Promise<Decided> {
    const asked: Asked = { header, transport: peer.transport };
    try {
      if (header.opcode === OPCODE.QUERY) return await this.#query(message, asked);
      if (header.opcode === OPCODE.UPDATE) return await this.#update(message, asked, peer);
      return { asked, reply: bareReply(RCODE.NOTIMP) };
    } catch (error) {
      if (error instanceof WireFault) return { asked, reply: bareReply(RCODE.FORMERR) };
      return { asked, reply: bareReply(RCODE.SERVFAIL), error };
    }
  }

  async #query(message: Buffer, bare: Asked): Promise<Decided> {
    const { question, edns } = readQuery(message, bare.header);
    const asked = { ...bare, questionOctets: question.octets, edns };
    if (edns !== undefined && edns.version > 0) return { asked, question, reply: bareReply(RCODE.BADVERS) };
    try {
      return { asked, question, reply: await this.#inTime(resolve(question, this.options.source)) };
    } catch (error) {
      return { asked, question, reply: bareReply(RCODE.SERVFAIL), error };
    }
  }

  /**
   * Unsigned updates are taken from this machine only. An outside host cannot claim a loopback address: the kernel
   * drops such packets on every other interface.
   */
  async #update(message: Buffer, bare: Asked, peer: Peer): Promise<Decided> {
    const { updates } = this.options;
    if (updates === undefined) return { asked: bare, reply: bareReply(RCODE.NOTIMP) };
    if (!isLoopback(peer.address)) return { asked: bare, reply: bareReply(RCODE.REFUSED) };
    const update = readUpdate(message, bare.header);
    const question = readQuestion(message);
    const asked = { ...bare, questionOctets: question.octets };
    const rcode = await this.#inTime(Promise.resolve(updates.update(update)));
    return { asked, question, reply: bareReply(rcode) };
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    const limitMs = this.options.sourceTimeoutMs ?? DEFAULT_SOURCE_TIMEOUT_MS;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`No records after ${limitMs} ms.`)), limitMs).unref();
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

export function isLoopback(address: string): boolean {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  return plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'));
}
