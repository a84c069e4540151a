import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type AddressGuard, guardedRequest, OutboundFault } from '@certwright/outbound';
import { AnswerRate } from './answer-rate';
import { AnswerTooLong, LogRefuses, LogUnavailable } from './log-faults';
import type { Pace } from './pace';
import { Unpacking } from './unpacking';

const inflate = promisify(gunzip);

/** A streamed answer may be megabytes: it takes up to so many request timeouts, as long as it comes at the minimum rate. */
const maxTimeouts = 10;

export interface Asking {
  readonly url: string;
  /** Bytes, unpacked. */
  readonly maxBytes: number;
}

export interface RequestsOptions {
  readonly guard: AddressGuard;
  readonly pace: Pace;
  readonly userAgent: string;
  readonly timeoutMs: number;
  /** Bytes per second; a streamed answer that comes slower is cut off. */
  readonly minAnswerRate: number;
  readonly now: () => number;
}

type Answer = Awaited<ReturnType<typeof guardedRequest>>;

/** The same request gets the same answer: Bad Request, Forbidden, Method Not Allowed, Unprocessable Content, Not Implemented. */
const refusals: ReadonlySet<number> = new Set([400, 403, 405, 422, 501]);

/** Politely asks one log. */
export class LogRequests {
  constructor(private readonly options: RequestsOptions) {}

  /**
   * The body of a 200, unpacked, held as a whole; null: there is none at that place (404, 410).
   *
   * @throws LogUnavailable for every other answer and for none; AnswerTooLong; the reason of the signal
   */
  async get({ url, maxBytes }: Asking, signal: AbortSignal): Promise<Buffer | null> {
    const { pace, timeoutMs } = this.options;
    await pace.turn(signal);
    const answer = await this.request({ url, timeoutMs, maxResponseBytes: maxBytes, signal });
    const { path, encoding } = this.accepted(answer, url) ?? {};
    if (path === undefined) return null;
    return encoding === 'gzip' ? await unpack(answer.body, maxBytes, path) : answer.body;
  }

  /** For answers that must exist. @throws LogUnavailable also where there is none */
  async getSome(asking: Asking, signal: AbortSignal): Promise<Buffer> {
    const body = await this.get(asking, signal);
    if (body === null) throw new LogRefuses(`The log has no ${new URL(asking.url).pathname}.`);
    return body;
  }

  /**
   * Hands the body of a 200 on as it comes, unpacked; nothing of it is held here.
   *
   * @param take what it throws ends the request, and is thrown
   * @returns false: there is none at that place (404, 410)
   * @throws as `get`, and LogUnavailable for one that comes too slowly
   */
  async stream(
    { url, maxBytes }: Asking,
    take: (piece: Buffer) => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { pace, timeoutMs, minAnswerRate } = this.options;
    await pace.turn(signal);
    const rate = new AnswerRate(minAnswerRate, timeoutMs);
    const unpacking = new Unpacking(take, maxBytes);
    const onBody = (piece: Buffer, headers: IncomingHttpHeaders) => {
      rate.received(piece.length);
      return headers['content-encoding'] === 'gzip' ? unpacking.write(piece) : take(piece);
    };
    try {
      const answer = await this.request({
        ...{ url, onBody, maxResponseBytes: maxBytes, timeoutMs: timeoutMs * maxTimeouts },
        signal: AbortSignal.any([signal, rate.signal]),
      });
      const accepted = this.accepted(answer, url);
      if (accepted?.encoding === 'gzip') await unpacking.end();
      return accepted !== null;
    } finally {
      rate.end();
      unpacking.close();
    }
  }

  /** Null: there is none. @throws LogUnavailable for what is not a whole answer in an encoding that was asked for */
  private accepted({ status, headers, truncated }: Answer, url: string) {
    const { pace } = this.options;
    const path = new URL(url).pathname;
    if (status === 404 || status === 410) return null;
    if (status === 429) pace.slowDown();
    if (status !== 200) {
      const retryAfterMs = this.retryAfterMs(headers['retry-after']);
      const Fault = refusals.has(status) ? LogRefuses : LogUnavailable;
      throw new Fault(`The log answered ${status} to ${path}.`, retryAfterMs);
    }
    pace.answered();
    if (truncated) throw new AnswerTooLong(`The answer to ${path} is too long.`);
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'gzip' && encoding !== 'identity')
      throw new LogUnavailable(`The answer to ${path} is encoded in a way that was not asked for.`);
    return { path, encoding };
  }

  private async request(
    request: Pick<
      Parameters<typeof guardedRequest>[1],
      'url' | 'timeoutMs' | 'maxResponseBytes' | 'signal' | 'onBody'
    >,
  ): Promise<Answer> {
    const { guard, userAgent } = this.options;
    try {
      const headers = { 'user-agent': userAgent, 'accept-encoding': 'gzip' };
      return await guardedRequest(guard, { ...request, method: 'GET', headers });
    } catch (error) {
      if (error instanceof OutboundFault) throw new LogUnavailable(error.message);
      throw error;
    }
  }

  /** Seconds or a date (RFC 9110, section 10.2.3). */
  private retryAfterMs(value: string | undefined): number | null {
    if (value === undefined) return null;
    const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - this.options.now();
    return Number.isNaN(ms) ? null : Math.max(0, ms);
  }
}

async function unpack(body: Buffer, maxBytes: number, path: string): Promise<Buffer> {
  try {
    return await inflate(body, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new AnswerTooLong(`The answer to ${path} unpacks to more than is read.`);
    throw new LogUnavailable(`The answer to ${path} cannot be unpacked.`);
  }
}
