import type { WriteRequest } from '@certwright/idempotency';
import { canonicalJson, readIdempotencyKey } from '@certwright/service';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

type Posted = FastifyRequest<{ Params: Readonly<Record<string, string>> }>;

/** `@Write() write: WriteRequest`: who posts what where, and under which `Idempotency-Key`. */
export const Write = createParamDecorator((_data: unknown, context: ExecutionContext): WriteRequest => {
  const { headers, params, body, caller, routeOptions } = context.switchToHttp().getRequest<Posted>();
  if (caller === null || routeOptions.url === undefined)
    throw new Error('@Write() is used on a public route');
  // However it was percent-encoded, it is the same path.
  const path = routeOptions.url.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const key = readIdempotencyKey(headers['idempotency-key']);
  return { accountId: caller.accountId, path, key, body: key === null ? '' : canonicalJson(body) };
});
