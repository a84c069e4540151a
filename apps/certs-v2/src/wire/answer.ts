import type { FastifyReply } from 'fastify';

/** What goes out, complete: it can be kept and sent again. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty: no body. */
  readonly body: string;
}

/** Exactly this, without a charset: the existing command-line client compares the whole header. */
export const jsonContentType = 'application/json';

export function jsonAnswer(value: unknown, headers: Answer['headers'] = {}): Answer {
  return {
    status: 200,
    headers: { 'content-type': jsonContentType, ...headers },
    body: JSON.stringify(value),
  };
}

/** As bytes: to a text Fastify adds a charset. */
export function sendAnswer(reply: FastifyReply, { status, headers, body }: Answer): void {
  void reply
    .code(status)
    .headers(headers)
    .send(body.length === 0 ? undefined : Buffer.from(body));
}
