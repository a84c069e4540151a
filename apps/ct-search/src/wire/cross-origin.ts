import type { FastifyInstance } from 'fastify';

/** On every answer: pages of any origin may read it, these headers included. */
export const crossOriginHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Link, Retry-After, X-Request-Id, ETag, WWW-Authenticate',
};

/** What a page asks before it sends an API key; good for a day, which browsers cut to two hours or less. */
const preflightHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': 'Authorization, If-None-Match, X-Request-Id',
  'access-control-max-age': '86400',
};

/** Answers to OPTIONS are what a browser goes by before it asks with a key (Fetch Standard, "CORS-preflight fetch"). */
export function answerPreflights(instance: FastifyInstance): void {
  instance.addHook('onSend', (request, reply, _payload, done) => {
    if (request.method === 'OPTIONS') reply.headers(preflightHeaders);
    done();
  });
}
