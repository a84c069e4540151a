/**
 * Every code that an answer of Certwright may carry. A code never changes its meaning, and a retired one is never
 * used again. Each API renders them in its own dialect at its edge (`wire/`), and nowhere else.
 */
export const problemCodes = [
  'bad_request',
  'bad_query',
  'missing_field',
  'invalid_value',
  'out_of_range',
  'bad_credentials',
  'clock_skew',
  'bad_handle',
  'payment_required',
  'unauthorized',
  'disabled_credentials',
  'not_allowed_by_plan',
  'policy_violation',
  'not_found',
  'zone_not_found',
  'method_not_allowed',
  'already_exists',
  'conflict',
  'record_conflict',
  'cluster_not_empty',
  'cluster_key_required',
  'members_changed',
  'not_asked',
  'idempotency_key_in_use',
  'lagging_client',
  'revision_mismatch',
  'request_too_large',
  'unsupported_media_type',
  'idempotency_key_reused',
  'rate_limited',
  'internal_error',
  'provider_auth_failed',
  'provider_rejected',
  'provider_rate_limited',
  'provider_unavailable',
  'service_outage',
  'timeout',
] as const;

export type ProblemCode = (typeof problemCodes)[number];

/** What can be wrong with one field of a request: the `code` of a sub-error. */
export const fieldFaultCodes = [
  'missing_field',
  'invalid_value',
  'out_of_range',
  'immutable_field',
  'invalid_dns_name',
  'not_public_domain',
  'wildcard_requires_dns',
  'too_many_names',
  'malformed_csr',
  'bad_csr_signature',
  'csr_cn_mismatch',
  'csr_san_mismatch',
  'csr_not_allowed',
  'csr_required',
  'unsupported_key_type',
  'unsupported_key_size',
  'unsupported_curve',
  'weak_key',
  'key_compromised',
  'unknown_cluster',
  'email_not_supported',
  'invalid_approver',
  'product_unavailable',
] as const;

export type FieldFaultCode = (typeof fieldFaultCodes)[number];
