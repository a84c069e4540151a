import type { FastifyReply } from 'fastify';

const jsonContentType = 'application/json; charset=utf-8';

type Headers = Readonly<Record<string, string>>;

/** Max bytes of a response that is sent as a text, which Node.js joins with the headers. */
const maxJoined = 16 * 1024;

/** @param json already serialized */
export function sendJson(reply: FastifyReply, json: string | Buffer, headers: Headers = {}): void {
  void reply
    .code(200)
    .headers({ 'content-type': jsonContentType, ...headers })
    .send(json.length <= maxJoined ? json.toString() : json);
}

/** As bytes: Fastify adds a charset to strings. */
export function sendBytes(reply: FastifyReply, bytes: string | Buffer, headers: Headers): void {
  void reply.code(200).headers(headers).send(Buffer.from(bytes));
}
