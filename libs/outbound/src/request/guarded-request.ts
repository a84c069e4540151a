import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { AddressGuard } from '../addresses/address-guard';
import { openConnection, type TlsTrust } from './connection';
import { Deadline } from './deadline';
import { exchange, type HttpAnswer, type OnBody } from './exchange';
import { targetOf, type Target } from './target';

export interface GuardedRequest {
  /** http or https. User and password in it become Basic authentication, unless there is an Authorization header. */
  readonly url: string;
  readonly method: string;
  /** Besides those that are set here: Host, Connection, Content-Length, Transfer-Encoding. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** From the look-up to the last byte of the answer, milliseconds. */
  readonly timeoutMs: number;
  /** A longer body is cut. */
  readonly maxResponseBytes: number;
  /** Takes the body of a 200 piece by piece; `body` is empty then. What it throws ends the request and is thrown. */
  readonly onBody?: OnBody;
  /** Default: every port but those of other protocols; see `portRefusal`. */
  readonly allowedPorts?: readonly number[];
  /** When it aborts, its reason is thrown. */
  readonly signal?: AbortSignal;
  readonly tls?: TlsTrust;
}

export interface GuardedAnswer extends HttpAnswer {
  /** IP address that answered. */
  readonly address: string;
}

/**
 * One HTTP/1.1 request to an address that somebody else chose. The host is looked up once, its addresses are judged, and
 * the connection goes to what was judged; it serves this request alone. No redirect is followed: each hop is a request
 * of its own, judged anew.
 *
 * @throws OutboundFault for everything that the address is to blame for; TypeError for headers that cannot be sent
 */
export async function guardedRequest(guard: AddressGuard, request: GuardedRequest): Promise<GuardedAnswer> {
  const target = targetOf(request.url, request.allowedPorts);
  const headers = headersFor(target, request.headers ?? {});
  const deadline = new Deadline(request.timeoutMs, request.signal);
  try {
    const addresses = await guard.addressesOf(target.hostname, deadline.signal);
    const { socket, address } = await openConnection(target, addresses, request.tls ?? {}, deadline);
    try {
      const { method, maxResponseBytes, onBody } = request;
      const body = Buffer.from(request.body ?? '');
      const answer = await exchange(
        socket,
        { method, path: target.path, headers, body, maxResponseBytes, onBody },
        deadline,
      );
      return { ...answer, address };
    } finally {
      socket.destroy();
    }
  } finally {
    deadline.end();
  }
}

const setHere: ReadonlySet<string> = new Set(['host', 'connection', 'content-length', 'transfer-encoding']);

function headersFor(
  { host, authorization }: Target,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { host, 'accept-encoding': 'identity' };
  if (authorization !== null) headers['authorization'] = authorization;
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (setHere.has(lower)) throw new TypeError(`The header ${name} is set by the request itself.`);
    validateHeaderName(lower);
    validateHeaderValue(lower, value);
    headers[lower] = value;
  }
  return headers;
}
