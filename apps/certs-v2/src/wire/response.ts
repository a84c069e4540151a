import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** A complete response, which can be stored and sent again. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty: no body. */
  readonly body: string;
}

/** Exactly this, without a charset: the existing command-line client compares the whole header. */
export const jsonContentType = 'application/json';

export function jsonResponse(value: unknown, headers: HttpResponse['headers'] = {}): HttpResponse {
  return {
    status: 200,
    headers: { 'content-type': jsonContentType, ...headers },
    body: JSON.stringify(value),
  };
}

/** As bytes: to a text Fastify adds a charset. */
export function sendResponse(reply: FastifyReply, { status, headers, body }: HttpResponse): void {
  void reply
    .code(status)
    .headers(headers)
    .send(body.length === 0 ? undefined : Buffer.from(body));
}

/** A list that is too long to be built at once: parts of its `data`, each with at least one object. */
export interface StreamedList {
  readonly parts: AsyncIterable<readonly object[]>;
  /** Called once when the response has ended, complete or not. */
  readonly end: () => void;
}

/**
 * A part is made when the client has read the previous one. An error ends the connection, so that the client sees an
 * incomplete document and never a shorter list.
 */
export function sendList(reply: FastifyReply, response: HttpResponse | StreamedList): void {
  if (!('parts' in response)) {
    sendResponse(reply, response);
    return;
  }
  // For HEAD, Fastify would read the whole list, after the response has ended.
  const parts = reply.request.method === 'HEAD' ? [] : response.parts;
  // A client that disconnected before causes no further event.
  if (reply.raw.closed) response.end();
  else reply.raw.once('close', response.end);
  void reply
    .code(200)
    .header('content-type', jsonContentType)
    .send(Readable.from(documentOf(parts), { objectMode: false }));
}

async function* documentOf(
  parts: StreamedList['parts'] | Iterable<readonly object[]>,
): AsyncGenerator<Buffer> {
  let before = '{"data":[';
  for await (const part of parts) {
    yield Buffer.from(before + part.map((each) => JSON.stringify(each)).join(','));
    before = ',';
  }
  yield Buffer.from(before === ',' ? ']}' : `${before}]}`);
}
