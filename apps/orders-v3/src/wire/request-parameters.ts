import type { WriteRequest } from '@certwright/idempotency';
import { canonicalJson, documentedParameter, readIdempotencyKey } from '@certwright/service';
import { createParamDecorator, type ExecutionContext, Param } from '@nestjs/common';
import { ApiHeader, ApiParam } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { type Precondition, readIfMatch } from './entity-tag';

const requestOf = (context: ExecutionContext) =>
  context.switchToHttp().getRequest<FastifyRequest<{ Params: Readonly<Record<string, string>> }>>();

const ifMatch = createParamDecorator((_data: unknown, context: ExecutionContext): Precondition => {
  return readIfMatch(requestOf(context).headers['if-match']);
});

const writeRequest = createParamDecorator((_data: unknown, context: ExecutionContext): WriteRequest => {
  const { headers, params, body, caller, routeOptions } = requestOf(context);
  if (caller === null || routeOptions.url === undefined)
    throw new Error('@Write() is used on a public route');
  // The same path for every percent-encoding of it.
  const path = routeOptions.url.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const key = readIdempotencyKey(headers['idempotency-key']);
  return { accountId: caller.accountId, path, key, body: key === null ? '' : canonicalJson(body) };
});

/** `@IfMatch() precondition: Precondition`. Throws a Problem when the header is malformed. */
export const IfMatch = (
  description = 'Entity tags of the order, such as "3", or *. 412 for another revision.',
) => documentedParameter(ifMatch(), ApiHeader({ name: 'If-Match', required: false, description }));

/** `@Write() write: WriteRequest`: account, path, body and `Idempotency-Key` of a POST. */
export const Write = () =>
  documentedParameter(
    writeRequest(),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        '1 to 255 visible ASCII characters. The same request with the same key within 24 h gets the same response.',
    }),
  );

/** `@OrderName() name: string` */
export const OrderName = () =>
  documentedParameter(
    Param('name'),
    ApiParam({ name: 'name', description: 'Name of the order, percent-encoded.', example: 'example.com' }),
  );

/** `@ClusterName() name: string` */
export const ClusterName = () =>
  documentedParameter(
    Param('name'),
    ApiParam({ name: 'name', description: 'Name of the cluster, percent-encoded.', example: 'web' }),
  );

export function isDeliveryId(text: string): boolean {
  return /^msg_[A-Za-z0-9_-]{27}$/.test(text);
}
