import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiExtraModels,
  ApiHeader,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { ErrorJson } from '../problem';
import { type DocumentedReason, errorResponses } from './errors';

export interface Operation {
  readonly summary: string;
  readonly description?: string;
  /** Class of the parameters in the query. */
  readonly query?: Type;
  /** Class of the request body, which is a form or JSON. */
  readonly takes?: Type;
  /** Class of the response, or an array of one: then the response is an object with such a list, by default in `data`. */
  readonly returns: Type | readonly [Type, listIn?: string];
  /** Reasons by which it fails, besides those of every operation like it. */
  readonly failsWith?: readonly DocumentedReason[];
}

/** OpenAPI documentation of a GET without authentication. */
export const DescribesPublicGet = (operation: Operation) =>
  describes({ ...operation, security: [] }, ['internal_error']);

/** OpenAPI documentation of a GET. */
export const DescribesGet = (operation: Operation) => describes(operation, authenticated);

/** OpenAPI documentation of a POST. */
export const DescribesPost = (operation: Operation) => describes(operation, posted);

/** OpenAPI documentation of a POST that can be repeated with an `Idempotency-Key`. */
export const DescribesRepeatablePost = (operation: Operation) =>
  applyDecorators(
    describes(operation, [...posted, 'bad_param', 'idempotency_key_in_use', 'idempotency_key_reused']),
    ApiHeader({
      name: 'Idempotency-Key',
      description: 'For 24 hours, a repetition with the same key and body gets the same response.',
      required: false,
    }),
  );

/** The parameter in the path of a certificate object; on a controller, for all of its routes. */
export const commonName = ApiParam({
  name: 'CN',
  type: String,
  description: 'Common name, percent-encoded.',
});

const authenticated: readonly DocumentedReason[] = [
  'bad_credentials',
  'unauthorized',
  'rate_limited',
  'service_outage',
  'internal_error',
];

const posted: readonly DocumentedReason[] = [
  ...authenticated,
  'bad_request',
  'request_too_large',
  'unsupported_media_type',
];

function describes(
  { query, takes, returns, failsWith = [], ...operation }: Operation & { readonly security?: [] },
  always: readonly DocumentedReason[],
): MethodDecorator {
  const [type, list] = typeof returns === 'function' ? [returns] : [returns[0], returns[1] ?? 'data'];
  const items = { type: 'array', items: { $ref: getSchemaPath(type) } };
  const success = { status: 200, description: 'Success' };
  return applyDecorators(
    ApiOperation(operation),
    ApiExtraModels(type, ErrorJson),
    ...(query === undefined ? [] : [ApiQuery({ type: query })]),
    ...(takes === undefined ? [] : [ApiBody({ type: takes, required: false }), ApiConsumes(...bodyTypes)]),
    list === undefined
      ? ApiResponse({ ...success, type })
      : ApiResponse({
          ...success,
          schema: { type: 'object', properties: { [list]: items }, required: [list] },
        }),
    ...Object.entries(errorResponses([...failsWith, ...always])).map(([status, response]) =>
      ApiResponse({ status: Number(status), ...response }),
    ),
  );
}

const bodyTypes = ['application/x-www-form-urlencoded', 'application/json'];
