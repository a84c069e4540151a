import type { FieldFaultCode, Problem, ProblemCode } from '@certwright/errors';
import type { RenderedProblem } from '@certwright/service';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { type ReasonCode, reasons, Refusal } from './reasons';

/** Error codes of this API for the codes of all APIs. A missing code does not compile. */
const reasonOfCode = {
  bad_request: 'bad_request',
  bad_query: 'bad_request',
  missing_field: 'missing_param',
  invalid_value: 'bad_param',
  out_of_range: 'bad_param',
  bad_credentials: 'bad_credentials',
  clock_skew: 'bad_credentials',
  bad_handle: 'bad_param',
  payment_required: 'payment_required',
  unauthorized: 'unauthorized',
  disabled_credentials: 'unauthorized',
  not_allowed_by_plan: 'unauthorized',
  policy_violation: 'unauthorized',
  not_found: 'not_found',
  zone_not_found: 'not_found',
  method_not_allowed: 'method_not_allowed',
  already_exists: 'already_pending',
  conflict: 'already_pending',
  record_conflict: 'already_pending',
  cluster_not_empty: 'already_pending',
  cluster_key_required: 'already_pending',
  members_changed: 'already_pending',
  not_asked: 'already_pending',
  idempotency_key_in_use: 'idempotency_key_in_use',
  lagging_client: 'bad_param',
  revision_mismatch: 'not_ready',
  request_too_large: 'request_too_large',
  unsupported_media_type: 'unsupported_media_type',
  idempotency_key_reused: 'idempotency_key_reused',
  rate_limited: 'rate_limited',
  internal_error: 'internal_error',
  provider_auth_failed: 'service_outage',
  provider_rejected: 'service_outage',
  provider_rate_limited: 'service_outage',
  provider_unavailable: 'service_outage',
  service_outage: 'service_outage',
  timeout: 'timeout',
} as const satisfies Record<ProblemCode, ReasonCode>;

/** Name of a field error in this API. */
export const reasonOfFault = {
  missing_field: 'missing_param',
  invalid_value: 'bad_param',
  out_of_range: 'bad_param',
  immutable_field: 'bad_param',
  invalid_dns_name: 'bad_cn',
  not_public_domain: 'bad_cn',
  wildcard_requires_dns: 'bad_approval_method',
  too_many_names: 'bad_sans',
  malformed_csr: 'bad_csr',
  bad_csr_signature: 'bad_csr',
  csr_cn_mismatch: 'bad_cn',
  csr_san_mismatch: 'bad_csr',
  csr_not_allowed: 'bad_csr',
  csr_required: 'missing_param',
  unsupported_key_type: 'bad_keytype',
  unsupported_key_size: 'bad_bitsize',
  unsupported_curve: 'bad_curve',
  weak_key: 'bad_csr',
  key_compromised: 'bad_csr',
  unknown_cluster: 'bad_param',
  email_not_supported: 'bad_approval_method',
  invalid_approver: 'bad_approver_email',
  product_unavailable: 'product_unavailable',
} as const satisfies Record<FieldFaultCode, ReasonCode>;

/** The error object of this API. */
@ApiSchema({ name: 'Error' })
export class ErrorJson {
  @ApiProperty({ type: String, description: 'For programs; never changes its meaning.' }) reason: ReasonCode;
  @ApiProperty({ description: 'For people.' }) message: string;
  @ApiPropertyOptional({ description: 'Name of the invalid parameter.' }) param?: string;
  @ApiPropertyOptional({ type: 'integer', description: 'Seconds to wait.' }) retry_after?: number;
}

/** Seconds before retrying an unavailable service: the existing client only retries when this is given. */
const outageRetryAfterS = 5;

export function renderProblem(problem: Problem): RenderedProblem {
  const [fault] = problem.faults;
  const reason =
    problem instanceof Refusal
      ? problem.reason
      : fault === undefined
        ? reasonOfCode[problem.code]
        : reasonOfFault[fault.code];
  const { status } = reasons[reason];
  const param = problem.field ?? fault?.field;
  const retryAfterS = problem.retryAfterS ?? (status === 503 ? outageRetryAfterS : undefined);
  const body: ErrorJson = {
    reason,
    message: problem instanceof Refusal || fault === undefined ? problem.message : fault.message,
    ...(param === undefined ? {} : { param }),
    ...(retryAfterS === undefined ? {} : { retry_after: Math.max(0, Math.ceil(retryAfterS)) }),
  };
  return { status, body };
}
