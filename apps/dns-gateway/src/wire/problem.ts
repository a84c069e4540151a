import type { GatewayError } from '@certwright/gateway-contract';
import { Problem, type ProblemCode } from '@certwright/errors';
import { errorObject, type RenderedProblem } from '@certwright/service';

/** Codes that this process answers, and their status; a code that it never throws is a fault of ours. */
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

/** A problem whose answer brings a new integration handle, which the caller stores although the request failed. */
export class ProblemWithHandle extends Problem {
  constructor(
    { code, message, field, faults, retryAfterS }: Problem,
    readonly integration: string,
  ) {
    super(code, message, { field, faults, retryAfterS });
  }
}

export function renderProblem(problem: Problem): RenderedProblem {
  const body: GatewayError = {
    ...errorObject(problem),
    ...(problem instanceof ProblemWithHandle ? { integration: problem.integration } : {}),
  };
  return { status: statusOf[problem.code] ?? 500, body };
}
