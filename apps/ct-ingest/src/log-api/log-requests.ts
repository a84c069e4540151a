import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type AddressGuard, guardedRequest, OutboundFault } from '@certwright/outbound';
import { LogRefuses, LogUnavailable } from './log-faults';
import type { Pace } from './pace';

const inflate = promisify(gunzip);

/** The answer is longer than was asked for, as sent or as it unpacks. */
export class AnswerTooLong extends LogUnavailable {}

export interface Asking {
  readonly url: string;
  /** Octets, unpacked. */
  readonly mostOctets: number;
  /** As a multiple of the usual time; default 1. */
  readonly patience?: number;
  /** Takes the body piece by piece; it is not compressed then. What it throws is thrown. */
  readonly onBody?: (piece: Buffer) => void;
}

export interface RequestsOptions {
  readonly guard: AddressGuard;
  readonly pace: Pace;
  readonly userAgent: string;
  readonly timeoutMs: number;
  readonly now: () => number;
}

/** The same request gets the same answer: Bad Request, Forbidden, Method Not Allowed, Unprocessable Content, Not Implemented. */
const refusals: ReadonlySet<number> = new Set([400, 403, 405, 422, 501]);

/** Politely asks one log. */
export class LogRequests {
  constructor(private readonly options: RequestsOptions) {}

  /**
   * The body of a 200, unpacked; null: there is none at that place (404, 410).
   *
   * @throws LogUnavailable for every other answer and for none; AnswerTooLong; the reason of the signal
   */
  async get(asking: Asking, signal: AbortSignal): Promise<Buffer | null> {
    const { pace } = this.options;
    await pace.turn(signal);
    const { status, headers, body, truncated } = await this.request(asking, signal);
    const path = new URL(asking.url).pathname;
    if (status === 404 || status === 410) return null;
    if (status === 429) pace.slowDown();
    if (status !== 200) {
      const retryAfterMs = this.retryAfterMs(headers['retry-after']);
      const Fault = refusals.has(status) ? LogRefuses : LogUnavailable;
      throw new Fault(`The log answered ${status} to ${path}.`, retryAfterMs);
    }
    pace.answered();
    if (truncated) throw new AnswerTooLong(`The answer to ${path} is too long.`);
    const encoding = headers['content-encoding'];
    if (encoding === undefined || encoding === 'identity') return body;
    if (encoding !== 'gzip' || asking.onBody !== undefined)
      throw new LogUnavailable(`The answer to ${path} is encoded in a way that was not asked for.`);
    return await unpack(body, asking.mostOctets, path);
  }

  /** For answers that must exist. @throws LogUnavailable also where there is none */
  async getSome(asking: Asking, signal: AbortSignal): Promise<Buffer> {
    const body = await this.get(asking, signal);
    if (body === null) throw new LogRefuses(`The log has no ${new URL(asking.url).pathname}.`);
    return body;
  }

  private async request({ url, mostOctets, patience = 1, onBody }: Asking, signal: AbortSignal) {
    const { guard, userAgent, timeoutMs } = this.options;
    try {
      return await guardedRequest(guard, {
        url,
        method: 'GET',
        headers: {
          'user-agent': userAgent,
          'accept-encoding': onBody === undefined ? 'gzip' : 'identity',
        },
        timeoutMs: timeoutMs * patience,
        maxResponseBytes: mostOctets,
        signal,
        ...(onBody === undefined ? {} : { onBody }),
      });
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

async function unpack(body: Buffer, mostOctets: number, path: string): Promise<Buffer> {
  try {
    return await inflate(body, { maxOutputLength: mostOctets });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new AnswerTooLong(`The answer to ${path} unpacks to more than is read.`);
    throw new LogUnavailable(`The answer to ${path} cannot be unpacked.`);
  }
}
