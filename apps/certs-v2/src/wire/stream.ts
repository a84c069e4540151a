import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type Answer, jsonContentType, sendAnswer } from './answer';

/** A list that is too long to be built at once: parts of its `data`, each with one object at least. */
export interface StreamedList {
  readonly parts: AsyncIterable<readonly object[]>;
}

/**
 * A part is made when the client has taken the one before. One that cannot be made ends the connection, so that the client
 * sees an incomplete document and never a shorter list.
 */
export function sendList(reply: FastifyReply, answer: Answer | StreamedList): void {
  if (!('parts' in answer)) {
    sendAnswer(reply, answer);
    return;
  }
  void reply
    .code(200)
    .header('content-type', jsonContentType)
    .send(Readable.from(documentOf(answer.parts), { objectMode: false }));
}

async function* documentOf(parts: AsyncIterable<readonly object[]>): AsyncGenerator<Buffer> {
  let before = '{"data":[';
  for await (const part of parts) {
    yield Buffer.from(before + part.map((each) => JSON.stringify(each)).join(','));
    before = ',';
  }
  yield Buffer.from(before === ',' ? ']}' : `${before}]}`);
}
