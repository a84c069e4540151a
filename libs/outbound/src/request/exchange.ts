import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { OutboundFault } from '../outbound-fault';
import type { Deadline } from './deadline';
import { exchangeFault, maxHeaderBytes } from './fault-messages';
import { Pieces } from './pieces';

export interface ExchangeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly maxResponseBytes: number;
  readonly onBody?: OnBody | undefined;
}

/**
 * Receives the body of a 200 piece by piece; the body is then not kept. Nothing more is read while a returned promise
 * is pending. An exception or rejection ends the request.
 */
export type OnBody = (piece: Buffer, headers: IncomingHttpHeaders) => void | Promise<void>;

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case, values as received (bytes as Latin-1), untrusted. */
  readonly headers: IncomingHttpHeaders;
  /** As sent, not decompressed. Empty for a redirect, whose body is not read. */
  readonly body: Buffer;
  /** The body was longer than `maxResponseBytes`; `body` holds its beginning. */
  readonly truncated: boolean;
}

/** With `onBody`: maximum bytes kept of the body of a status other than 200. */
const maxOtherBody = 65_536;

/** RFC 9110 §15.2: one or two 103 are usual, an endless series of 1xx is not. */
const maxInterimResponses = 8;

/** Maximum bytes on the connection: a chunk of one byte costs six (RFC 9112 §7.1). */
const maxTransferBytes = (maxResponseBytes: number): number => 8 * maxResponseBytes + 131_072;

/**
 * Sends one request and reads its response. The caller destroys the connection afterwards.
 *
 * @throws OutboundFault `too_large` or `protocol`; the deadline's reason
 */
export async function exchange(
  socket: Socket,
  outgoing: ExchangeRequest,
  deadline: Deadline,
): Promise<HttpAnswer> {
  return await deadline.bound<HttpAnswer>((resolve, reject) => {
    const fail = (error: unknown): void => {
      reject(exchangeFault(error));
      socket.destroy();
    };
    const { method, path, headers, body } = outgoing;
    const request = httpRequest({
      // With a connection and no agent, `Connection: close` is sent and nothing is kept.
      createConnection: () => socket,
      method,
      path,
      headers: {
        ...headers,
        ...(body.length > 0 || bodyIsUsual(method) ? { 'content-length': body.length } : {}),
      },
      setHost: false,
      maxHeaderSize: maxHeaderBytes,
      insecureHTTPParser: false,
    });
    request.on('error', fail);
    request.once('socket', () => limitBytes(socket, maxTransferBytes(outgoing.maxResponseBytes), fail));
    limitInterimAnswers(request, fail);
    request.once('upgrade', () =>
      fail(new OutboundFault('protocol', 'The server switched to another protocol.')),
    );
    request.once('response', (response) => collect(response, outgoing, resolve, fail, reject));
    request.end(body);
    return () => socket.destroy();
  });
}

/** RFC 9110 §8.6: methods that expect a body send a length, even 0. */
const bodyIsUsual = (method: string): boolean => method === 'POST' || method === 'PUT' || method === 'PATCH';

const redirects: readonly number[] = [301, 302, 303, 307, 308];

function collect(
  response: IncomingMessage,
  { maxResponseBytes, onBody }: ExchangeRequest,
  resolve: (answer: HttpAnswer) => void,
  fail: (error: unknown) => void,
  reject: (error: unknown) => void,
): void {
  const { statusCode: status = 0, headers } = response;
  const pieces = new Pieces();
  let size = 0;
  let taken = Promise.resolve();
  const done = (truncated: boolean): void => resolve({ status, headers, body: pieces.take(), truncated });
  response.on('error', fail);
  if (redirects.includes(status)) return done(false);
  const isTaken = status === 200 && onBody !== undefined;
  const take: OnBody = isTaken ? onBody : (piece: Buffer) => void pieces.push(piece);
  const maxBytes =
    isTaken || onBody === undefined ? maxResponseBytes : Math.min(maxResponseBytes, maxOtherBody);
  // Discard the rest.
  const stop = (): void => void response.pause().removeAllListeners('data');
  const refused = (error: unknown): void => {
    stop();
    reject(error);
  };
  response.on('data', (chunk: Buffer) => {
    const isTooMuch = size + chunk.length > maxBytes;
    const goOn = (): void => {
      if (!isTooMuch) return void response.resume();
      stop();
      done(true);
    };
    try {
      const taking = take(isTooMuch ? chunk.subarray(0, maxBytes - size) : chunk, headers);
      size += chunk.length;
      if (!(taking instanceof Promise)) return isTooMuch ? goOn() : undefined;
      response.pause();
      taken = taking.then(goOn, refused);
    } catch (error) {
      refused(error);
    }
  });
  // The last piece may still be pending.
  response.on('end', () => void taken.then(() => done(false)));
}

function limitBytes(socket: Socket, max: number, fail: (error: unknown) => void): void {
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > max) fail(new OutboundFault('too_large', 'The response has far more data than content.'));
  });
}

function limitInterimAnswers(request: ReturnType<typeof httpRequest>, fail: (error: unknown) => void): void {
  let interim = 0;
  request.on('information', () => {
    interim += 1;
    if (interim > maxInterimResponses) {
      fail(
        new OutboundFault(
          'protocol',
          `More than ${maxInterimResponses} interim responses came before the final one.`,
        ),
      );
    }
  });
}
