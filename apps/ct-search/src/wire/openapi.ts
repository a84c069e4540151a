import { Problem, problemExamples } from '@certwright/errors';
import { ErrorExamples, renderErrorObject } from '@certwright/service';
import { applyDecorators } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiOkResponse,
  ApiOperation,
  type ApiOperationOptions,
  ApiParam,
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  type ApiResponseNoStatusOptions,
  ApiSchema,
} from '@nestjs/swagger';

@ApiSchema({ name: 'SubError' })
class SubErrorSchema {
  @ApiProperty({ description: 'As above.' }) code: string;
  @ApiProperty({ description: 'As above.' }) message: string;
  @ApiProperty({ description: 'The parameter.' }) field: string;
}

@ApiSchema({ name: 'Error' })
class ErrorSchema {
  @ApiProperty({ description: 'For programs: never changes its meaning. docs/errors.md lists every code.' })
  code: string;
  @ApiProperty({ description: 'For people.' }) message: string;
  @ApiPropertyOptional({ description: 'The invalid parameter, if it is a single one.' }) field?: string;
  @ApiPropertyOptional({ type: [SubErrorSchema], description: 'What is wrong with each parameter.' })
  sub_errors?: readonly SubErrorSchema[];
}

const {
  bad_credentials,
  disabled_credentials,
  not_allowed_by_plan,
  lagging_client,
  internal_error,
  service_outage,
  timeout,
} = problemExamples;

export const errorExamples = new ErrorExamples(
  {
    bad_query: new Problem('bad_query', 'The query is not valid: see after.', {
      faults: [{ field: 'after', code: 'invalid_value', message: 'It must be the id of an issuance, once.' }],
    }),
    bad_credentials,
    payment_required: new Problem('payment_required', 'The subscription is suspended: it has not been paid.'),
    unauthorized: new Problem('unauthorized', 'This API key lacks the permission "Search Certificates".'),
    disabled_credentials,
    not_allowed_by_plan,
    not_found: new Problem('not_found', 'There is no issuance with this id.'),
    lagging_client,
    rate_limited: new Problem(
      'rate_limited',
      'Too many requests without an API key came from this address; the next one is due in 360 s.',
      { retryAfterS: 360 },
    ),
    internal_error,
    service_outage,
    timeout,
  },
  renderErrorObject,
  'Error',
);

/** Name of an error → its cause. */
type Reasons = Parameters<typeof errorExamples.responses>[0];

/** Of every operation. */
const failsAnyway: Reasons = { internal_error: 'An error of the service; retry with back-off' };

/** Of operations that read the index. */
const failsReading: Reasons = {
  service_outage: 'Temporarily unavailable; see Retry-After',
  timeout: 'The query took longer than the subscription allows',
};

/** Of operations that take an API key. */
const failsWithKey: Reasons = {
  bad_credentials: 'The API key is not valid, or is needed and missing',
  payment_required: 'The subscription has not been paid',
  unauthorized: 'The API key lacks the permission',
  disabled_credentials: 'The API key is disabled',
  rate_limited: 'Too many requests; see Retry-After',
};

/** Required credentials of an operation: an API key, an optional API key, none. */
const securityOf: Readonly<Record<'key' | 'either' | 'public', ApiOperationOptions['security']>> = {
  key: [{ bearer: [] }, { basic: [] }],
  either: [{ bearer: [] }, { basic: [] }, {}],
  public: [],
};

interface Described extends Pick<ApiOperationOptions, 'operationId' | 'summary' | 'description'> {
  readonly access: keyof typeof securityOf;
  readonly success: ApiResponseNoStatusOptions;
  /** Name of a response header → its description. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Specific errors, in addition to those of similar operations. */
  readonly fails?: Reasons;
}

/** OpenAPI metadata of a route, apart from its parameters. */
export function Describes({
  access,
  success,
  headers = {},
  fails,
  ...operation
}: Described): MethodDecorator {
  const reasons = { ...fails, ...(access === 'public' ? {} : failsWithKey), ...failsReading, ...failsAnyway };
  const described = Object.entries(headers).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ]);
  return applyDecorators(
    ApiExtraModels(ErrorSchema),
    ApiOperation({ ...operation, security: securityOf[access] }),
    ApiOkResponse({
      description: 'Success',
      ...(described.length === 0 ? {} : { headers: Object.fromEntries(described) as object }),
      ...success,
    } as ApiResponseNoStatusOptions),
    ...Object.entries(errorExamples.responses(reasons)).map(([status, response]) =>
      ApiResponse({ status: Number(status), ...response }),
    ),
  );
}

export const issuanceId = ApiParam({
  name: 'id',
  description: 'Of the issuance.',
  schema: { type: 'string', pattern: '^[0-9]+$' },
});

export const pageHeadersDescribed = {
  Link: 'On a full page: the address of the next one, rel="next".',
  'Retry-After': 'On an empty page: seconds until the same query is worth repeating.',
};

/** The operation of the document itself, which has no controller. */
export const openApiOperation = {
  operationId: 'getOpenapiJson',
  summary: 'This document',
  security: securityOf.public,
  responses: {
    200: {
      description: 'Success',
      content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
    },
    ...errorExamples.responses(failsAnyway),
  },
};
