import type { FastifyReply } from 'fastify';

/** A complete response, which can be stored and sent again. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty: no body. */
  readonly body: string | Buffer;
}

export interface JsonResponse extends HttpResponse {
  readonly body: string;
}

export function jsonResponse(
  status: number,
  value: unknown,
  headers: HttpResponse['headers'] = {},
): JsonResponse {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  };
}

export const emptyResponse: HttpResponse = { status: 204, headers: {}, body: '' };

export function sendResponse(reply: FastifyReply, { status, headers, body }: HttpResponse): void {
  void reply
    .code(status)
    .headers(headers)
    .send(body.length === 0 ? undefined : body);
}
