import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { WriteRequest } from '../orders/repeatable-requests';
import { apiPath } from './addresses';
import { type Precondition, readIfMatch } from './entity-tag';
import { canonicalJson, readIdempotencyKey } from './idempotency-key';

const requestOf = (context: ExecutionContext) =>
  context.switchToHttp().getRequest<FastifyRequest<{ Params: { name?: string } }>>();

/** `@IfMatch() precondition: Precondition`. Throws a Problem when the header is malformed. */
export const IfMatch = createParamDecorator((_data: unknown, context: ExecutionContext): Precondition => {
  return readIfMatch(requestOf(context).headers['if-match']);
});

/** `@Write() write: WriteRequest`: who posts what where, and under which `Idempotency-Key`. */
export const Write = createParamDecorator((_data: unknown, context: ExecutionContext): WriteRequest => {
  const { headers, params, body, caller } = requestOf(context);
  if (caller === null) throw new Error('@Write() stands on a public route');
  // However the name was percent-encoded, it is the same path.
  const path = `${apiPath}/orders${params.name === undefined ? '' : `/${encodeURIComponent(params.name)}`}`;
  const key = readIdempotencyKey(headers['idempotency-key']);
  return { accountId: caller.accountId, path, key, body: key === null ? '' : canonicalJson(body) };
});
