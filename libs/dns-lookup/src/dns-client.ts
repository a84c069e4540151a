import { parseName } from '@certwright/dns-authority';
import type { LookUpFailure } from '@certwright/dns-names';
import { readResponse, type LookUpResult, type LookUpOptions, type LookUpType } from './look-up';
import { buildQuery, type DnsQuery, isAuthoritative, isTruncated, type QuestionStyle } from './query';
import { exchangeOverTcp } from './tcp-exchange';
import { UdpSockets, type Exchanged, type Server } from './udp-sockets';

export interface DnsClientOptions {
  /** The only server that is queried. */
  readonly server: Server;
  /** Total time of one look-up, ms. Default 3,000. */
  readonly timeoutMs?: number;
  /** Max bytes of a response over TCP; a longer one is the failure `too_large`. Default 16,384. */
  readonly maxResponseBytes?: number;
  /** False: the server responds from its own zones only. Default: true. */
  readonly recursion?: boolean;
}

const DEFAULT_TIMEOUT_MS = 3_000;
const DEFAULT_MAX_RESPONSE_BYTES = 16_384;
/** Share of the total time for the first attempt: after a lost datagram the second and TCP need the rest. */
const FIRST_ATTEMPT_SHARE = 1 / 3;

const WARY: QuestionStyle = { mixedCase: true, edns: true };
/** For servers that respond in lower case, or do not support EDNS. */
const PLAIN: QuestionStyle = { mixedCase: false, edns: false };

/**
 * Queries one server, usually a resolver. A look-up is at most two datagrams, the second without 0x20 and EDNS, and
 * one TCP connection when the response was truncated. Sent from random ports with random ids; only a response to the
 * exact query is accepted.
 */
export class DnsClient {
  readonly #sockets: UdpSockets;
  readonly #closing = new AbortController();
  readonly #from: string;

  constructor(private readonly options: DnsClientOptions) {
    const { host, port } = options.server;
    this.#from = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    this.#sockets = new UdpSockets(options.server);
  }

  /** An arrow function, so that it can be passed as a `LookUp`. Never rejects. */
  readonly lookUp = async (
    name: string,
    type: LookUpType,
    options: LookUpOptions = {},
  ): Promise<LookUpResult> => {
    const parsed = parseName(name);
    if (parsed === undefined) return this.#failure('invalid_name');
    if (this.#closing.signal.aborted) return this.#failure('aborted');
    const timeoutMs = options.timeoutMs ?? this.options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const deadline = performance.now() + timeoutMs;
    const remaining = () => Math.max(1, deadline - performance.now());
    const { signal } = options;
    const first = await this.#attempt(parsed, type, WARY, timeoutMs * FIRST_ATTEMPT_SHARE, signal);
    const udp = needsPlainAttempt(first)
      ? await this.#attempt(parsed, type, PLAIN, remaining(), signal)
      : first;
    if ('failed' in udp) return this.#failure(udp.failed === 'other_case' ? 'malformed' : udp.failed);
    if (!isTruncated(udp.response)) return this.#read(udp.response);
    return this.#overTcp(parsed, type, remaining(), signal);
  };

  /** Look-ups in progress, and all later ones, end as the failure `aborted`. */
  close(): void {
    this.#closing.abort();
    this.#sockets.close();
  }

  #attempt(name: string, type: LookUpType, style: QuestionStyle, timeoutMs: number, signal?: AbortSignal) {
    if (this.#closing.signal.aborted) return Promise.resolve<Exchanged>({ failed: 'aborted' });
    return this.#sockets.exchange(this.#query(name, type, style), timeoutMs, signal);
  }

  async #overTcp(
    name: string,
    type: LookUpType,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<LookUpResult> {
    const closing = this.#closing.signal;
    const tcp = await exchangeOverTcp(this.options.server, this.#query(name, type, PLAIN), {
      timeoutMs,
      maxResponseBytes: this.options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
      signal: signal === undefined ? closing : AbortSignal.any([signal, closing]),
    });
    return 'failed' in tcp ? this.#failure(tcp.failed) : this.#read(tcp.response);
  }

  #query(name: string, type: LookUpType, style: QuestionStyle): DnsQuery {
    return buildQuery(name, type, { ...style, recursionDesired: this.options.recursion !== false });
  }

  #read(response: Buffer): LookUpResult {
    const result = readResponse(response, this.#from);
    const hearsay = this.options.recursion === false && !isAuthoritative(response);
    return hearsay ? { ...result, notAuthoritative: true } : result;
  }

  #failure(reason: LookUpFailure): LookUpResult {
    return { from: this.#from, kind: 'failure', reason };
  }
}

const RCODES_OF_OLD_SERVERS: readonly number[] = [1, 4]; // FORMERR, NOTIMP: RFC 6891 section 7

function needsPlainAttempt(first: Exchanged): boolean {
  if ('failed' in first) return first.failed !== 'aborted';
  return RCODES_OF_OLD_SERVERS.includes(first.response.readUInt16BE(2) & 0xf);
}
