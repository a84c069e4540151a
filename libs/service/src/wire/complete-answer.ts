import type { FastifyReply } from 'fastify';

/** A complete response, which can be stored and sent again. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty: no body. */
  readonly body: string | Buffer;
}

export interface JsonAnswer extends Answer {
  readonly body: string;
}

export function jsonAnswer(status: number, value: unknown, headers: Answer['headers'] = {}): JsonAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  };
}

export const emptyAnswer: Answer = { status: 204, headers: {}, body: '' };

export function sendAnswer(reply: FastifyReply, { status, headers, body }: Answer): void {
  void reply
    .code(status)
    .headers(headers)
    .send(body.length === 0 ? undefined : body);
}
