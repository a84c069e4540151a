import { fieldFaultCodes, Problem, problemCodes, problemExamples } from '@certwright/errors';
import { ErrorExamples, renderErrorObject } from '@certwright/service';
import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiPropertyOptional, ApiResponse } from '@nestjs/swagger';
import {
  noSuchCertificate,
  noSuchDelivery,
  noSuchIntegration,
  noSuchOrder,
  noSuchWebhook,
  nothingSent,
  tooManyIntegrations,
  tooManyWebhooks,
} from './problems';

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

const invalid = (field: string, message: string): Problem =>
  Problem.ofFields([{ field, code: 'invalid_value', message }]);

const {
  bad_request,
  bad_query,
  invalid_value,
  bad_credentials,
  payment_required,
  unauthorized,
  disabled_credentials,
  not_found,
  already_exists,
  conflict,
  idempotency_key_in_use,
  revision_mismatch,
  request_too_large,
  unsupported_media_type,
  idempotency_key_reused,
  rate_limited,
  internal_error,
  provider_auth_failed,
  provider_rejected,
  provider_rate_limited,
  provider_unavailable,
  service_outage,
} = problemExamples;

/** The errors of this API. When several have one code, the name identifies the error. */
export const errorExamples = new ErrorExamples(
  {
    bad_request,
    bad_order: Problem.ofFields([
      {
        field: 'csr',
        code: 'unsupported_key_size',
        message: 'The RSA key has 1024 bits; it must have 2048, 3072 or 4096.',
      },
    ]),
    bad_reason: invalid(
      'reason',
      'It must be the name or the number of one of: unspecified (0), keyCompromise (1), affiliationChanged (3), superseded (4), cessationOfOperation (5), privilegeWithdrawn (9).',
    ),
    bad_webhook: invalid('url', 'It does not begin with http:// or https://.'),
    bad_integration: invalid('credentials', 'deSEC refused the credentials.'),
    unexpected_member: invalid('colour', 'There is no member colour.'),
    bad_query,
    invalid_value,
    bad_credentials,
    payment_required,
    unauthorized,
    disabled_credentials,
    not_found,
    order_not_found: noSuchOrder(),
    certificate_not_found: noSuchCertificate(),
    webhook_not_found: noSuchWebhook(),
    delivery_not_found: noSuchDelivery(),
    integration_not_found: noSuchIntegration(),
    already_exists,
    conflict,
    too_many_webhooks: tooManyWebhooks(),
    nothing_sent: nothingSent(),
    too_many_integrations: tooManyIntegrations(),
    integration_lost: new Problem(
      'conflict',
      'The DNS integration can no longer be opened; create it again.',
    ),
    idempotency_key_in_use,
    revision_mismatch,
    request_too_large,
    unsupported_media_type,
    idempotency_key_reused,
    rate_limited,
    internal_error,
    provider_auth_failed,
    provider_rejected,
    provider_rate_limited,
    provider_unavailable,
    service_outage,
  },
  renderErrorObject,
  ErrorSchema.name,
);

/** Name of an error → when a request fails with it. */
type Reasons = Parameters<typeof errorExamples.responses>[0];

const documented = (reasons: Reasons) =>
  applyDecorators(
    ApiExtraModels(ErrorSchema),
    ...Object.entries(errorExamples.responses(reasons)).map(([status, response]) =>
      ApiResponse({ status: Number(status), ...response }),
    ),
  );

/** Errors of every public address. */
const everywhere: Reasons = {
  internal_error: 'An error of the service; retry with back-off',
  service_outage: 'Temporarily unavailable; see Retry-After',
};

/** Errors of every request with an API key. */
const authenticated: Reasons = {
  bad_credentials: 'No API key, or not a valid one',
  unauthorized: 'The API key lacks the permission',
  disabled_credentials: 'The API key is disabled',
  rate_limited: 'Too many requests; see Retry-After',
};

/** Errors of every POST. */
export const posted: Reasons = {
  bad_request: 'The body is not valid; see sub_errors',
  invalid_value: 'A header is not valid',
  idempotency_key_in_use: 'The Idempotency-Key is in use',
  request_too_large: 'The body is over 256 KiB',
  unsupported_media_type: 'The body is not application/json',
  idempotency_key_reused: 'The Idempotency-Key was used with another body',
};

/** Errors of a request with `If-Match`. */
export const conditioned: Reasons = {
  invalid_value: 'A header is not valid',
  revision_mismatch: 'Another revision',
};

/** The errors of an operation, besides those of every operation with an API key. */
export const FailsWith = (reasons: Reasons = {}) =>
  documented({ ...authenticated, ...everywhere, ...reasons });

/** The errors of an operation without authentication. */
export const PublicFailsWith = (reasons: Reasons) => documented({ ...everywhere, ...reasons });
