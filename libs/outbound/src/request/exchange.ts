import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { OutboundFault } from '../outbound-fault';
import type { Deadline } from './deadline';
import { exchangeFault, longestHeader } from './fault-words';
import { Pieces } from './pieces';

export interface HttpQuestion {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly maxResponseBytes: number;
  readonly onBody?: OnBody | undefined;
}

/**
 * Takes the body of a 200 piece by piece, which is not kept then. Nothing more is read while it returns a promise that is pending.
 * What it throws, or rejects with, ends the request.
 */
export type OnBody = (piece: Buffer, headers: IncomingHttpHeaders) => void | Promise<void>;

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case, values as they came: bytes as Latin-1, to be trusted in nothing. */
  readonly headers: IncomingHttpHeaders;
  /** As it was sent: nothing is decompressed. Empty for a redirect, whose body is not waited for. */
  readonly body: Buffer;
  /** The body was longer than `maxResponseBytes`; `body` holds its beginning. */
  readonly truncated: boolean;
}

/** Where a body is taken piece by piece, that of a status other than 200 is kept, bytes. */
const maxOtherBody = 65_536;

/** RFC 9110 §15.2: a 103 or two are usual, an endless row of 1xx is not. */
const mostInterimAnswers = 8;

/** Bytes on the connection, per byte of body and besides: chunks of one byte each cost six (RFC 9112 §7.1). */
const mostBytes = (maxResponseBytes: number): number => 8 * maxResponseBytes + 131_072;

/**
 * One question and its answer on a connection of its own, which is used up afterwards: the caller destroys it.
 *
 * @throws OutboundFault `too_large` or `protocol`; the deadline's reason
 */
export async function exchange(
  socket: Socket,
  question: HttpQuestion,
  deadline: Deadline,
): Promise<HttpAnswer> {
  return await deadline.bound<HttpAnswer>((resolve, reject) => {
    const fail = (error: unknown): void => {
      reject(exchangeFault(error));
      socket.destroy();
    };
    const { method, path, headers, body } = question;
    const request = httpRequest({
      // With a connection and without an agent, nothing is kept for a later request: `Connection: close` is sent.
      createConnection: () => socket,
      method,
      path,
      headers: {
        ...headers,
        ...(body.length > 0 || bodyIsUsual(method) ? { 'content-length': body.length } : {}),
      },
      setHost: false,
      maxHeaderSize: longestHeader,
      insecureHTTPParser: false,
    });
    request.on('error', fail);
    request.once('socket', () => limitBytes(socket, mostBytes(question.maxResponseBytes), fail));
    limitInterimAnswers(request, fail);
    request.once('upgrade', () =>
      fail(new OutboundFault('protocol', 'The server changes to another protocol.')),
    );
    request.once('response', (response) => collect(response, question, resolve, fail, reject));
    request.end(body);
    return () => socket.destroy();
  });
}

/** RFC 9110 §8.6: a length is sent with methods that expect a body, even when it is 0. */
const bodyIsUsual = (method: string): boolean => method === 'POST' || method === 'PUT' || method === 'PATCH';

const redirects: readonly number[] = [301, 302, 303, 307, 308];

function collect(
  response: IncomingMessage,
  { maxResponseBytes, onBody }: HttpQuestion,
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
  // Nothing that still comes is wanted.
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
  // The last piece may not be taken yet.
  response.on('end', () => void taken.then(() => done(false)));
}

function limitBytes(socket: Socket, most: number, fail: (error: unknown) => void): void {
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > most) fail(new OutboundFault('too_large', 'The answer is far longer than what it says.'));
  });
}

function limitInterimAnswers(request: ReturnType<typeof httpRequest>, fail: (error: unknown) => void): void {
  let interim = 0;
  request.on('information', () => {
    interim += 1;
    if (interim > mostInterimAnswers) {
      fail(
        new OutboundFault(
          'protocol',
          `More than ${mostInterimAnswers} interim answers came before the real one.`,
        ),
      );
    }
  });
}
