import { Problem, problemExamples } from '@certwright/errors';
import { ErrorExamples } from '@certwright/service';
import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiOperation, ApiResponse } from '@nestjs/swagger';
import { ErrorSchema, renderProblem } from './problem';

const {
  bad_request,
  out_of_range,
  bad_handle,
  policy_violation,
  zone_not_found,
  record_conflict,
  unsupported_media_type,
  internal_error,
  provider_auth_failed,
  provider_rejected,
  provider_rate_limited,
  provider_unavailable,
} = problemExamples;

/** The errors of the gateway. The name distinguishes errors with the same code. */
export const errorExamples = new ErrorExamples(
  {
    bad_request,
    missing_member: Problem.ofFields([
      {
        field: 'account',
        code: 'missing_field',
        message: 'Must be 1 to 128 printable characters without spaces.',
      },
    ]),
    bad_query: new Problem('bad_query', 'The query is not valid: see account.', {
      faults: [
        {
          field: 'account',
          code: 'missing_field',
          message: 'Must be 1 to 128 printable characters without spaces.',
        },
      ],
    }),
    invalid_value: new Problem('invalid_value', 'This gateway does not know the provider.', {
      field: 'provider',
    }),
    invalid_record: new Problem(
      'invalid_value',
      'The name "ex ample.com" has a label that is not letters, digits and hyphens after at most one leading underscore.',
      { field: 'record.fqdn' },
    ),
    out_of_range,
    bad_handle,
    unauthorized: new Problem('unauthorized', 'The client of this certificate may not use this endpoint.'),
    policy_violation,
    zone_not_found,
    record_conflict,
    request_too_large: new Problem('request_too_large', 'The body is larger than 64 KiB.'),
    unsupported_media_type,
    rate_limited: new Problem('rate_limited', 'This client may ask 50 times a second.', {
      retryAfterS: 1,
    }),
    internal_error,
    provider_auth_failed,
    provider_rejected,
    provider_rate_limited,
    provider_unavailable,
    service_outage: new Problem('service_outage', 'Too many requests are under way here: ask again.', {
      retryAfterS: 1,
    }),
    timeout: new Problem(
      'timeout',
      'The provider took too long. Whether it made a change is not known: ask again.',
    ),
  },
  renderProblem,
  'Error',
);

/** Name of an error → when a request fails with it. */
type Reasons = Parameters<typeof errorExamples.responses>[0];

/** Errors of every request. */
const failsAnyway: Reasons = {
  unauthorized: 'The client may not use this endpoint',
  rate_limited: 'Too many requests of this client; see Retry-After',
  internal_error: 'A fault of the gateway; repeat with back-off',
};

/** Errors of every POST. */
const failsPosted: Reasons = {
  bad_request: 'The body is not valid; see sub_errors',
  missing_member: 'The body is not valid; see sub_errors',
  request_too_large: 'The body is over 64 KiB',
  unsupported_media_type: 'The body is not application/json',
};

export const failsWithHandle: Reasons = { bad_handle: 'A handle does not open' };

/** Errors of a request that needs the provider. */
const failsAtProvider: Reasons = {
  provider_auth_failed: 'The provider refused the credentials',
  provider_rejected: 'The provider refused the request',
  provider_rate_limited: 'The provider limits the rate of requests; see Retry-After',
  provider_unavailable: 'The provider is unavailable; see Retry-After',
  service_outage: 'The gateway is overloaded, or cannot record changes; see Retry-After',
  timeout: 'The provider took too long; repeat the request',
};

interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly success: Type;
  /** Errors in addition to those of every request of its kind. */
  readonly fails: Reasons;
}

/** Description of a route in the OpenAPI document, except its request. */
export function Describes({ success, fails, ...operation }: Described): MethodDecorator {
  return applyDecorators(
    ApiExtraModels(ErrorSchema),
    ApiOperation(operation),
    ApiOkResponse({ description: 'Success', type: success }),
    ...Object.entries(errorExamples.responses({ ...fails, ...failsAnyway })).map(([status, response]) =>
      ApiResponse({ status: Number(status), ...response }),
    ),
  );
}

/** Like `Describes`, for a message: a POST that needs the provider. */
export const DescribesMessage = ({ fails, ...described }: Described): MethodDecorator =>
  Describes({ ...described, fails: { ...failsPosted, ...fails, ...failsAtProvider } });
