import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type AddressGuard, guardedRequest, OutboundFault } from '@certwright/outbound';
import { ResponseRate } from './response-rate';
import { ResponseTooLong, LogRefuses, LogUnavailable } from './log-faults';
import type { Pace } from './pace';
import { Unpacking } from './unpacking';

const inflate = promisify(gunzip);

/** A streamed response may have megabytes: it may take this many request timeouts while it keeps the minimum rate. */
const maxTimeouts = 10;

export interface LogRequest {
  readonly url: string;
  /** Bytes, unpacked. */
  readonly maxBytes: number;
}

export interface RequestsOptions {
  readonly guard: AddressGuard;
  readonly pace: Pace;
  readonly userAgent: string;
  readonly timeoutMs: number;
  /** Bytes per second; a slower streamed response is aborted. */
  readonly minResponseRate: number;
  readonly now: () => number;
}

type LogResponse = Awaited<ReturnType<typeof guardedRequest>>;

/** A retry gets the same response: Bad Request, Forbidden, Method Not Allowed, Unprocessable Content, Not Implemented. */
const refusals: ReadonlySet<number> = new Set([400, 403, 405, 422, 501]);

/** Sends rate-limited requests to one log. */
export class LogRequests {
  constructor(private readonly options: RequestsOptions) {}

  /**
   * The body of a 200, unpacked and buffered as a whole; null: not found (404, 410).
   *
   * @throws LogUnavailable for every other response and for none; ResponseTooLong; the reason of the signal
   */
  async get({ url, maxBytes }: LogRequest, signal: AbortSignal): Promise<Buffer | null> {
    const { pace, timeoutMs } = this.options;
    await pace.turn(signal);
    const response = await this.request({ url, timeoutMs, maxResponseBytes: maxBytes, signal });
    const { path, encoding } = this.accepted(response, url) ?? {};
    if (path === undefined) return null;
    return encoding === 'gzip' ? await unpack(response.body, maxBytes, path) : response.body;
  }

  /** For required responses. @throws LogUnavailable also when it is not found */
  async getSome(logRequest: LogRequest, signal: AbortSignal): Promise<Buffer> {
    const body = await this.get(logRequest, signal);
    if (body === null) throw new LogRefuses(`The log has no ${new URL(logRequest.url).pathname}.`);
    return body;
  }

  /**
   * Passes on the body of a 200 as it arrives, unpacked and unbuffered.
   *
   * @param take an error that it throws ends the request, and is rethrown
   * @returns false: not found (404, 410)
   * @throws as `get`, and LogUnavailable for a response that is too slow
   */
  async stream(
    { url, maxBytes }: LogRequest,
    take: (piece: Buffer) => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { pace, timeoutMs, minResponseRate } = this.options;
    await pace.turn(signal);
    const rate = new ResponseRate(minResponseRate, timeoutMs);
    const unpacking = new Unpacking(take, maxBytes);
    const onBody = (piece: Buffer, headers: IncomingHttpHeaders) => {
      rate.received(piece.length);
      return headers['content-encoding'] === 'gzip' ? unpacking.write(piece) : take(piece);
    };
    try {
      const response = await this.request({
        ...{ url, onBody, maxResponseBytes: maxBytes, timeoutMs: timeoutMs * maxTimeouts },
        signal: AbortSignal.any([signal, rate.signal]),
      });
      const accepted = this.accepted(response, url);
      if (accepted?.encoding === 'gzip') await unpacking.end();
      return accepted !== null;
    } finally {
      rate.end();
      unpacking.close();
    }
  }

  /** Null: not found. @throws LogUnavailable for an incomplete response or an encoding that was not requested */
  private accepted({ status, headers, truncated }: LogResponse, url: string) {
    const { pace } = this.options;
    const path = new URL(url).pathname;
    if (status === 404 || status === 410) return null;
    if (status === 429) pace.slowDown();
    if (status !== 200) {
      const retryAfterMs = this.retryAfterMs(headers['retry-after']);
      const Fault = refusals.has(status) ? LogRefuses : LogUnavailable;
      throw new Fault(`The log returned ${status} for ${path}.`, retryAfterMs);
    }
    pace.succeeded();
    if (truncated) throw new ResponseTooLong(`The response to ${path} is too long.`);
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'gzip' && encoding !== 'identity')
      throw new LogUnavailable(`The response to ${path} has a content encoding that was not requested.`);
    return { path, encoding };
  }

  private async request(
    request: Pick<
      Parameters<typeof guardedRequest>[1],
      'url' | 'timeoutMs' | 'maxResponseBytes' | 'signal' | 'onBody'
    >,
  ): Promise<LogResponse> {
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
      throw new ResponseTooLong(`The response to ${path} unpacks to more than is read.`);
    throw new LogUnavailable(`The response to ${path} cannot be unpacked.`);
  }
}
