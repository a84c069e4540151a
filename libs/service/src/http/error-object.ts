import type { FieldFault, Problem, ProblemCode } from '@certwright/errors';
import type { RenderedProblem } from './problem-response';

/** The status of each code. */
const statusOf = {
  bad_request: 400,
  bad_query: 400,
  missing_field: 400,
  invalid_value: 400,
  out_of_range: 400,
  bad_credentials: 401,
  clock_skew: 401,
  bad_handle: 400,
  payment_required: 402,
  unauthorized: 403,
  disabled_credentials: 403,
  not_allowed_by_plan: 403,
  policy_violation: 403,
  not_found: 404,
  zone_not_found: 404,
  method_not_allowed: 405,
  already_exists: 409,
  conflict: 409,
  record_conflict: 409,
  cluster_not_empty: 409,
  cluster_key_required: 409,
  members_changed: 409,
  not_asked: 409,
  idempotency_key_in_use: 409,
  lagging_client: 410,
  revision_mismatch: 412,
  request_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal_error: 500,
  provider_auth_failed: 502,
  provider_rejected: 502,
  provider_rate_limited: 503,
  provider_unavailable: 503,
  service_outage: 503,
  timeout: 504,
} as const satisfies Record<ProblemCode, number>;

/** The error object of all APIs except v2. */
export interface ErrorObject {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
  readonly sub_errors?: readonly FieldFault[];
}

export function errorObject({ code, message, field, faults }: Problem): ErrorObject {
  return {
    code,
    message,
    ...(field === undefined ? {} : { field }),
    ...(faults.length === 0
      ? {}
      : {
          sub_errors: faults.map((fault) => ({
            field: fault.field,
            code: fault.code,
            message: fault.message,
          })),
        }),
  };
}

/** Renders the error object with the fixed status of its code. */
export function renderErrorObject(problem: Problem): RenderedProblem {
  return { status: statusOf[problem.code], body: errorObject(problem) };
}
