import type { WriteRequest } from '@certwright/idempotency';
import { canonicalJson, readIdempotencyKey } from '@certwright/service';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Precondition, readIfMatch } from './entity-tag';

const requestOf = (context: ExecutionContext) =>
  context.switchToHttp().getRequest<FastifyRequest<{ Params: Readonly<Record<string, string>> }>>();

/** `@IfMatch() precondition: Precondition`. Throws a Problem when the header is malformed. */
export const IfMatch = createParamDecorator((_data: unknown, context: ExecutionContext): Precondition => {
  return readIfMatch(requestOf(context).headers['if-match']);
});

/** `@Write() write: WriteRequest`: who posts what where, and under which `Idempotency-Key`. */
export const Write = createParamDecorator((_data: unknown, context: ExecutionContext): WriteRequest => {
  const { headers, params, body, caller, routeOptions } = requestOf(context);
  if (caller === null || routeOptions.url === undefined) throw new Error('@Write() stands on a public route');
  // However it was percent-encoded, it is the same path.
  const path = routeOptions.url.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const key = readIdempotencyKey(headers['idempotency-key']);
  return { accountId: caller.accountId, path, key, body: key === null ? '' : canonicalJson(body) };
});

/** The id of a certificate, webhook or integration: a positive integer that JSON's numbers hold, written as a number is. */
export function isObjectId(text: string): boolean {
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}

export function isDeliveryId(text: string): boolean {
  return /^msg_[A-Za-z0-9_-]{27}$/.test(text);
}
