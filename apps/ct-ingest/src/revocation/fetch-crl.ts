import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type AddressGuard, type GuardedAnswer, guardedRequest, OutboundFault } from '@certwright/outbound';

const inflate = promisify(gunzip);

/** Lists move to a CDN with one redirect, or from http to https with another. */
const maxRedirects = 3;

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** No usable list could be fetched. */
export class CrlUnavailable extends Error {
  /** @param wholeHost other lists of the host are unavailable, too, for now */
  constructor(
    message: string,
    readonly wholeHost = false,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/** The list exceeds the max size of the request. */
export class CrlTooLong extends CrlUnavailable {}

export interface CrlRequest {
  readonly url: string;
  /** Validators of the known list; null: there is no known list, or it has none. */
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** Max bytes, unpacked. Reading takes twice as much memory. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export type CrlResponse =
  | { readonly kind: 'unchanged' }
  | {
      readonly kind: 'list';
      readonly body: Buffer;
      readonly etag: string | null;
      readonly lastModified: string | null;
    };

export interface CrlFetching {
  readonly guard: AddressGuard;
  readonly userAgent: string;
  /** Including all redirects. */
  readonly timeoutMs: number;
  readonly now: () => number;
}

/**
 * Requests a list with a condition that it differs from the known one. Each redirect passes the guard like the first address.
 *
 * @throws CrlUnavailable; the reason of the signal
 */
export async function fetchCrl(fetching: CrlFetching, crlRequest: CrlRequest): Promise<CrlResponse> {
  const untilMs = fetching.now() + fetching.timeoutMs;
  let { url } = crlRequest;
  for (let hop = 0; hop <= maxRedirects; hop += 1) {
    const response = await request(fetching, crlRequest, url, untilMs, hop === 0);
    const { location } = response.headers;
    if (!redirects.has(response.status) || location === undefined)
      return await read(response, crlRequest, fetching.now);
    if (!URL.canParse(location, url)) throw new CrlUnavailable('The server redirects to no URL.');
    url = new URL(location, url).href;
  }
  throw new CrlUnavailable(`The server redirects more than ${maxRedirects} times.`);
}

async function request(
  { guard, userAgent, now }: CrlFetching,
  { etag, lastModified, maxBytes, signal }: CrlRequest,
  url: string,
  untilMs: number,
  isFirst: boolean,
): Promise<GuardedAnswer> {
  try {
    return await guardedRequest(guard, {
      url,
      method: 'GET',
      headers: {
        'user-agent': userAgent,
        ...(etag === null ? {} : { 'if-none-match': etag }),
        ...(lastModified === null ? {} : { 'if-modified-since': lastModified }),
      },
      timeoutMs: Math.max(1, untilMs - now()),
      maxResponseBytes: maxBytes,
      signal,
      // The list is signed, and it may be the one with the status of its server's certificate.
      tls: { verify: false },
    });
  } catch (error) {
    if (!(error instanceof OutboundFault)) throw error;
    const ofTheHost = error.kind !== 'bad_url' && error.kind !== 'too_large' && error.kind !== 'protocol';
    throw new CrlUnavailable(error.message, isFirst && ofTheHost);
  }
}

async function read(
  response: GuardedAnswer,
  crlRequest: CrlRequest,
  now: () => number,
): Promise<CrlResponse> {
  const { status, headers, body, truncated } = response;
  if (status === 304 && (crlRequest.etag ?? crlRequest.lastModified) !== null) return { kind: 'unchanged' };
  if (status !== 200) {
    const isBusy = status === 429 || status === 503;
    throw new CrlUnavailable(
      `The server returned ${status}.`,
      isBusy,
      isBusy ? retryAfterMs(headers['retry-after'], now) : null,
    );
  }
  if (truncated) throw new CrlTooLong(`The list is longer than ${crlRequest.maxBytes} bytes.`);
  return {
    kind: 'list',
    body: await unpacked(body, headers['content-encoding'], crlRequest.maxBytes),
    etag: shortHeader(headers['etag']),
    lastModified: shortHeader(headers['last-modified']),
  };
}

/** It was not requested, but some servers store packed files and send them packed. */
async function unpacked(body: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> {
  if (encoding === undefined || encoding === 'identity') return body;
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new CrlUnavailable('The list has a content encoding that was not requested.');
  try {
    // So that all chunks together take no more than an unpacked list.
    return await inflate(body, { maxOutputLength: Math.max(1, Math.floor(maxBytes - body.length / 2)) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new CrlTooLong('The list unpacks to more than is read.');
    throw new CrlUnavailable('The list cannot be unpacked.');
  }
}

/** Sent back unchanged. */
function shortHeader(value: string | undefined): string | null {
  return value !== undefined && /^[\x20-\x7e]{1,200}$/.test(value) ? value : null;
}

/** Seconds or a date (RFC 9110, section 10.2.3). */
function retryAfterMs(value: string | undefined, now: () => number): number | null {
  if (value === undefined) return null;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
