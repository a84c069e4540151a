import { isIPv4 } from 'node:net';
import { answer, bareReply, type Reply } from './answer';
import { OPCODE, RCODE, type Rcode } from './codes';
import type { DnsName } from './name';
import { type Asked, encodeReply } from './reply-encoding';
import { type Edns, type Question, readHeader, readQuery, readQuestion, type RequestHeader } from './request';
import type { RecordSource, UpdateTarget, ZoneSlice } from './source';
import { type ResponseSigning, signingBytes, signResponse, verifyRequest } from './tsig/answerer';
import type { TsigKey } from './tsig/tsig-key';
import { readUpdate } from './update/update-message';
import { WireFault } from './wire-fault';

export interface Peer {
  /** IP address. */
  readonly address: string;
  readonly port: number;
  readonly transport: 'udp' | 'tcp';
}

/**
 * Whether a message gets a response, a response with TC and no records, or none. Only queries can be truncated: to an
 * UPDATE, NOERROR would mean success, so with `truncate` other messages get no response.
 */
export type Admission = 'answer' | 'truncate' | 'drop';

/** The response to one message, for logs and metrics. */
export interface Answered {
  readonly peer: Peer;
  readonly opcode: number;
  /** The first question, if readable: name in normal form, and type number. */
  readonly question?: { readonly name: string; readonly type: number };
  readonly rcode: Rcode;
  readonly bytes: number;
  /** From arrival until the response was written, milliseconds. */
  readonly tookMs: number;
  readonly admission: Exclude<Admission, 'drop'>;
  /** The cause of SERVFAIL: an error of the source or the update target. */
  readonly error?: unknown;
}

export interface ResponderOptions {
  readonly source: RecordSource;
  /** Absent: the response to UPDATE is NOTIMP. */
  readonly updates?: UpdateTarget;
  /**
   * Keys for signed requests (RFC 8945). A signed UPDATE is accepted from any address; an invalid signature gets
   * NOTAUTH, for queries too. Default: none, and signatures are ignored.
   */
  readonly tsigKeys?: readonly TsigKey[];
  /** Whether UPDATEs from this machine must be signed as well. Default false. */
  readonly onlySignedUpdates?: boolean;
  /** The clock for the time of signatures. Default: the system's. */
  readonly now?: () => Date;
  /**
   * Called for each message before any lookup; must not throw. Over TCP `drop` closes the connection. Default: admits
   * all.
   */
  readonly admit?: (peer: Peer) => Admission;
  /**
   * Maximum ratio of response to request size over UDP, since source addresses may be forged; longer responses are
   * truncated. Default: only the limits of RFC 1035 and `EDNS_UDP_BYTES`.
   */
  readonly mostAmplification?: number;
  /** Timeout of source and update target in milliseconds; then the response is SERVFAIL. Default 2,000. */
  readonly sourceTimeoutMs?: number;
  /** Called after each response; must not throw. */
  readonly onAnswered?: (answered: Answered) => void;
}

const DEFAULT_SOURCE_TIMEOUT_MS = 2_000;

interface Decided {
  readonly asked: Asked;
  readonly reply: Reply;
  readonly question?: Question;
  readonly error?: unknown;
  /** Absent: the response is not signed. */
  readonly signing?: ResponseSigning;
}

/** Turns any request bytes into response bytes. */
export class Responder {
  constructor(private readonly options: ResponderOptions) {}

  /** Never rejects. `undefined`: no response. */
  async respond(message: Buffer, peer: Peer): Promise<Buffer | undefined> {
    const header = readHeader(message);
    if (header === undefined) return undefined;
    const begunMs = performance.now();
    const admission = this.options.admit?.(peer) ?? 'answer';
    if (admission === 'drop') return undefined;
    const decided =
      admission === 'answer'
        ? await this.#decide(message, header, peer)
        : truncated(message, { header, transport: peer.transport });
    if (decided === undefined) return undefined;
    let { error } = decided;
    let rcode = decided.reply.rcode;
    let response: Buffer;
    try {
      response = this.#encode(decided, decided.reply);
    } catch (fault) {
      error = fault;
      rcode = RCODE.SERVFAIL;
      response = this.#encode(decided, bareReply(rcode));
    }
    this.options.onAnswered?.({
      peer,
      opcode: header.opcode,
      rcode,
      bytes: response.length,
      tookMs: performance.now() - begunMs,
      admission,
      ...(decided.question && { question: { name: decided.question.name, type: decided.question.type } }),
      ...(error !== undefined && { error }),
    });
    return response;
  }

  #encode({ asked, signing }: Decided, reply: Reply): Buffer {
    if (signing === undefined) return encodeReply(asked, reply);
    const response = encodeReply({ ...asked, signatureBytes: signingBytes(signing) }, reply);
    return signResponse(response, signing, this.#nowS());
  }

  #nowS(): number {
    return Math.floor((this.options.now?.() ?? new Date()).getTime() / 1000);
  }

  /** Verifies the signature before reading anything else; an invalid one has no effect. */
  async #decide(message: Buffer, header: RequestHeader, peer: Peer): Promise<Decided> {
    const { mostAmplification } = this.options;
    const asked: Asked = {
      header,
      transport: peer.transport,
      ...(mostAmplification !== undefined && { udpBytes: message.length * mostAmplification }),
    };
    const { tsigKeys = [] } = this.options;
    if (tsigKeys.length === 0) return await this.#carryOut(message, asked, peer, false);
    try {
      const signed = verifyRequest(message, tsigKeys, this.#nowS());
      if (signed.verdict === 'unsigned') return await this.#carryOut(message, asked, peer, false);
      const { signing } = signed;
      if (signed.verdict === 'refused')
        return { ...echoing(asked, message), reply: bareReply(RCODE.NOTAUTH), signing };
      return { ...(await this.#carryOut(signed.message, unsignedAsked(asked), peer, true)), signing };
    } catch (error) {
      if (error instanceof WireFault) return { asked, reply: bareReply(RCODE.FORMERR) };
      throw error;
    }
  }

  async #carryOut(message: Buffer, asked: Asked, peer: Peer, isSigned: boolean): Promise<Decided> {
    try {
      if (asked.header.opcode === OPCODE.QUERY) return await this.#query(message, asked);
      if (asked.header.opcode === OPCODE.UPDATE) return await this.#update(message, asked, peer, isSigned);
      return { ...heard(message, asked), reply: bareReply(RCODE.NOTIMP) };
    } catch (error) {
      if (error instanceof WireFault) return { asked, reply: bareReply(RCODE.FORMERR) };
      return { asked, reply: bareReply(RCODE.SERVFAIL), error };
    }
  }

  async #query(message: Buffer, bare: Asked): Promise<Decided> {
    const { question, edns } = readQuery(message, bare.header);
    const asked = { ...bare, questionBytes: question.bytes, edns };
    if (isVersionUnknown(edns)) return { asked, question, reply: bareReply(RCODE.BADVERS) };
    try {
      return { asked, question, reply: await this.#inTime(resolve(question, this.options.source)) };
    } catch (error) {
      return { asked, question, reply: bareReply(RCODE.SERVFAIL), error };
    }
  }

  /**
   * Unsigned updates are accepted from this machine only. Other hosts cannot use a loopback address: the kernel drops
   * such packets on other interfaces.
   */
  async #update(message: Buffer, bare: Asked, peer: Peer, isSigned: boolean): Promise<Decided> {
    const { updates, onlySignedUpdates = false } = this.options;
    if (updates === undefined) return { ...heard(message, bare), reply: bareReply(RCODE.NOTIMP) };
    const isTaken = isSigned || (!onlySignedUpdates && isLoopback(peer.address));
    if (!isTaken) return { asked: bare, reply: bareReply(RCODE.REFUSED) };
    const update = readUpdate(message, bare.header);
    const question = readQuestion(message);
    const asked = { ...bare, questionBytes: question.bytes };
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

/**
 * Question and EDNS of a message of any opcode, echoed as for a query (RFC 6891 section 6.1.1), if it has the same
 * form.
 */
function heard(message: Buffer, asked: Asked): Pick<Decided, 'asked' | 'question'> {
  try {
    const { question, edns } = readQuery(message, asked.header);
    return { asked: { ...asked, questionBytes: question.bytes, edns }, question };
  } catch (error) {
    if (error instanceof WireFault) return { asked };
    throw error;
  }
}

/** Without lookup and signature. `undefined`: not a query. */
function truncated(message: Buffer, asked: Asked): Decided | undefined {
  if (asked.header.opcode !== OPCODE.QUERY) return undefined;
  try {
    const { question, edns } = readQuery(message, asked.header);
    // A query with EDNS gets a response with EDNS (RFC 6891 section 6.1.1); otherwise resolvers assume no support.
    const heard = { ...asked, questionBytes: question.bytes, edns };
    if (isVersionUnknown(edns)) return { asked: heard, question, reply: bareReply(RCODE.BADVERS) };
    return { asked: { ...heard, truncated: true }, question, reply: bareReply(RCODE.NOERROR) };
  } catch (error) {
    if (error instanceof WireFault) return { asked, reply: bareReply(RCODE.FORMERR) };
    throw error;
  }
}

function isVersionUnknown(edns: Edns | undefined): boolean {
  return edns !== undefined && edns.version > 0;
}

/** The header without the TSIG record. */
function unsignedAsked(asked: Asked): Asked {
  const [questions, answers, authorities, additionals] = asked.header.counts;
  return {
    ...asked,
    header: { ...asked.header, counts: [questions, answers, authorities, additionals - 1] },
  };
}

function echoing(asked: Asked, message: Buffer): Pick<Decided, 'asked' | 'question'> {
  if (asked.header.counts[0] !== 1) return { asked };
  const question = readQuestion(message);
  return { asked: { ...asked, questionBytes: question.bytes }, question };
}

export function isLoopback(address: string): boolean {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  return plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'));
}

/** Maximum reads of the source per query: the name, eight CNAME hops, and name servers of a referral. */
const READ_LIMIT = 24;

/** Alternates between deciding and reading until there is a reply. Rejects when the source does. */
export async function resolve(question: Question, source: RecordSource): Promise<Reply> {
  const slices = new Map<DnsName, ZoneSlice | null>();
  for (let reads = 0; reads <= READ_LIMIT; reads++) {
    const outcome = answer(question, slices);
    if (outcome.kind === 'reply') return outcome.reply;
    slices.set(outcome.name, (await source.read(outcome.name)) ?? null);
  }
  return bareReply(RCODE.SERVFAIL);
}
