import { applyDecorators } from '@nestjs/common';
import { ApiHeader, ApiParam, ApiQuery } from '@nestjs/swagger';

export const orderName = ApiParam({
  name: 'name',
  description: 'Name of the order, percent-encoded.',
  example: 'example.com',
});

const expandable = (values: readonly string[]) =>
  ApiQuery({
    name: 'expand',
    required: false,
    isArray: true,
    schema: { type: 'array', items: { type: 'string', enum: [...values] } },
    description: 'May be repeated. Unknown names are ignored.',
  });

export const expandsOrder = expandable([
  'csr',
  'current_cert',
  'current_cert.leaf',
  'current_cert.chain',
  'current_cert.root',
  'issuance',
]);
export const expandsCertificate = expandable(['leaf', 'chain', 'root']);

export const paged = (after: string) =>
  applyDecorators(
    ApiQuery({ name: 'after', required: false, schema: { type: 'string' }, description: after }),
    ApiQuery({
      name: 'limit',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 },
    }),
  );

export const idempotent = ApiHeader({
  name: 'Idempotency-Key',
  required: false,
  description:
    '1 to 255 visible ASCII characters. The same request with the same key within 24 h gets the same answer.',
});

export const conditional = ApiHeader({
  name: 'If-Match',
  required: false,
  description: 'Entity tags of the order, such as "3", or *. Another revision is answered 412.',
});
