import type { GatewayError, MaybeResealed } from '@certwright/gateway-contract';
import { Problem, type ProblemCode } from '@certwright/errors';
import { errorObject, type RenderedProblem } from '@certwright/service';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { ProviderFault, type ProviderFaultKind } from '../providers/provider-fault';

/** Error codes of this process and their status; any other code is an internal error. */
const statusOf: Partial<Record<ProblemCode, number>> = {
  bad_request: 400,
  bad_query: 400,
  missing_field: 400,
  invalid_value: 400,
  out_of_range: 400,
  bad_handle: 400,
  unauthorized: 403,
  policy_violation: 403,
  not_found: 404,
  zone_not_found: 404,
  method_not_allowed: 405,
  record_conflict: 409,
  request_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  provider_auth_failed: 502,
  provider_rejected: 502,
  provider_rate_limited: 503,
  provider_unavailable: 503,
  service_outage: 503,
  timeout: 504,
};

/**
 * A problem whose response contains a new integration handle, which the caller stores although the request failed.
 */
export class ProblemWithHandle extends Problem {
  constructor(
    { code, message, field, faults, retryAfterS }: Problem,
    readonly integration: string,
  ) {
    super(code, message, { field, faults, retryAfterS });
  }
}

@ApiSchema({ name: 'SubError' })
class SubErrorSchema {
  @ApiProperty({ description: 'Member of the request.' }) readonly field: string;
  @ApiProperty({ description: 'As above.' }) readonly code: string;
  @ApiProperty({ description: 'For people.' }) readonly message: string;
}

/** A response that may contain a new handle. */
export class Resealed implements MaybeResealed {
  @ApiPropertyOptional({
    description:
      'A new integration handle, which the caller stores in place of the old one: the credentials changed, or the key that sealed it is retiring.',
  })
  readonly integration?: string;
}

@ApiSchema({ name: 'Error' })
export class ErrorSchema extends Resealed implements GatewayError {
  @ApiProperty({ description: 'docs/errors.md lists every code.' }) readonly code: string;
  @ApiProperty({ description: 'For people.' }) readonly message: string;
  @ApiPropertyOptional({ description: 'Member of the request that is at fault.' }) readonly field?: string;
  @ApiPropertyOptional({
    type: [SubErrorSchema],
    description: 'Where several members are at fault: each of them.',
  })
  readonly sub_errors?: readonly SubErrorSchema[];
}

export function renderProblem(problem: Problem): RenderedProblem {
  const body: ErrorSchema = {
    ...errorObject(problem),
    ...(problem instanceof ProblemWithHandle ? { integration: problem.integration } : {}),
  };
  return { status: statusOf[problem.code] ?? 500, body };
}

interface Meaning {
  readonly code: ProblemCode;
  /** Default delay in seconds when the provider states none; null: waiting does not help. */
  readonly retryAfterS: number | null;
}

/** The error code for each kind of provider error. */
const meaningOf = {
  auth_failed: { code: 'provider_auth_failed', retryAfterS: null },
  rejected: { code: 'provider_rejected', retryAfterS: null },
  rate_limited: { code: 'provider_rate_limited', retryAfterS: 60 },
  unavailable: { code: 'provider_unavailable', retryAfterS: 30 },
  conflict: { code: 'record_conflict', retryAfterS: null },
  zone_not_found: { code: 'zone_not_found', retryAfterS: null },
} as const satisfies Record<ProviderFaultKind, Meaning>;

/** A day: a longer delay from a provider is shortened to this. */
const maxRetryAfterS = 86_400;

export function problemOfProvider({ kind, message, retryAfterS }: ProviderFault): Problem {
  const meaning: Meaning = meaningOf[kind];
  if (meaning.retryAfterS === null) return new Problem(meaning.code, message);
  const waitS = Math.min(Math.max(1, retryAfterS ?? meaning.retryAfterS), maxRetryAfterS);
  return new Problem(meaning.code, message, { retryAfterS: waitS });
}
