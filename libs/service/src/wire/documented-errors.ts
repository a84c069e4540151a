import { fieldFaultCodes, problemCodes, problemExamples } from '@certwright/errors';
import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiPropertyOptional, ApiResponse } from '@nestjs/swagger';
import type { ErrorExamples } from '../documentation/error-examples';

export class SubErrorSchema {
  @ApiProperty()
  field: string;

  @ApiProperty({ enum: fieldFaultCodes })
  code: string;

  @ApiProperty()
  message: string;
}

export class ErrorSchema {
  @ApiProperty({
    enum: problemCodes,
    description: 'For programs. Its meaning never changes; new codes may be added.',
  })
  code: string;

  @ApiProperty({ description: 'For people; the wording may change.' })
  message: string;

  @ApiPropertyOptional()
  field: string;

  @ApiPropertyOptional({ type: [SubErrorSchema] })
  sub_errors: SubErrorSchema[];
}

const {
  bad_request,
  bad_query,
  bad_credentials,
  disabled_credentials,
  not_found,
  request_too_large,
  unsupported_media_type,
  rate_limited,
  internal_error,
  service_outage,
} = problemExamples;

/** Examples of the errors that every API of version 3 has. An API adds `unauthorized` with its permission. */
export const commonErrors = {
  bad_request,
  bad_query,
  bad_credentials,
  disabled_credentials,
  not_found,
  request_too_large,
  unsupported_media_type,
  rate_limited,
  internal_error,
  service_outage,
};

/** Name of an error → when a request fails with it. */
type Reasons<Name extends string> = Readonly<Partial<Record<Name, string>>>;

/** Errors of every public address. */
const everywhere = {
  internal_error: 'An error of the service; retry with back-off',
  service_outage: 'Temporarily unavailable; see Retry-After',
};

/** Errors of every request with an API key. */
const authenticated = {
  bad_credentials: 'No API key, or not a valid one',
  unauthorized: 'The API key lacks the permission',
  disabled_credentials: 'The API key is disabled',
  rate_limited: 'Too many requests; see Retry-After',
};

/**
 * Decorators that document the errors of an operation with the examples of an API, which has one of each error of
 * `everywhere` and `authenticated`.
 */
export function errorDecorators<Name extends string>(examples: ErrorExamples<Name>) {
  const documented = (reasons: object) =>
    applyDecorators(
      ApiExtraModels(ErrorSchema),
      ...Object.entries(examples.responses(reasons as Reasons<Name>)).map(([status, response]) =>
        ApiResponse({ status: Number(status), ...response }),
      ),
    );
  return {
    /** The errors of an operation, besides those of every operation with an API key. */
    FailsWith: (reasons?: Reasons<Name>) => documented({ ...authenticated, ...everywhere, ...reasons }),
    /** The errors of an operation without authentication. */
    PublicFailsWith: (reasons?: Reasons<Name>) => documented({ ...everywhere, ...reasons }),
  };
}
