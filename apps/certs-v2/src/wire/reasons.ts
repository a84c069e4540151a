import { Problem, type ProblemCode } from '@certwright/errors';

interface Reason {
  readonly status: number;
  /** The common code of all APIs; it only determines what is logged and which headers HTTP requires. */
  readonly code: ProblemCode;
}

/** Every `reason` of this API and its status. A reason never changes its meaning, and a retired one is never used again. */
export const reasons = {
  bad_bitsize: { status: 400, code: 'invalid_value' },
  bad_csr: { status: 400, code: 'invalid_value' },
  bad_cn: { status: 400, code: 'invalid_value' },
  bad_country: { status: 400, code: 'invalid_value' },
  bad_curve: { status: 400, code: 'invalid_value' },
  bad_keytype: { status: 400, code: 'invalid_value' },
  bad_sans: { status: 400, code: 'invalid_value' },
  bad_tags: { status: 400, code: 'invalid_value' },
  bad_type: { status: 400, code: 'invalid_value' },
  bad_approval_method: { status: 400, code: 'invalid_value' },
  bad_approver_email: { status: 400, code: 'invalid_value' },
  bad_certificate: { status: 400, code: 'invalid_value' },
  missing_param: { status: 400, code: 'missing_field' },
  bad_param: { status: 400, code: 'invalid_value' },
  bad_request: { status: 400, code: 'bad_request' },
  bad_credentials: { status: 401, code: 'bad_credentials' },
  payment_required: { status: 402, code: 'payment_required' },
  unauthorized: { status: 403, code: 'unauthorized' },
  no_such_cert: { status: 404, code: 'not_found' },
  no_such_instance: { status: 404, code: 'not_found' },
  no_such_pubkey_hash: { status: 404, code: 'not_found' },
  no_such_invoice: { status: 404, code: 'not_found' },
  template_not_found: { status: 404, code: 'not_found' },
  not_found: { status: 404, code: 'not_found' },
  method_not_allowed: { status: 405, code: 'method_not_allowed' },
  inactive_cert: { status: 409, code: 'conflict' },
  no_pending_instance: { status: 409, code: 'conflict' },
  already_pending: { status: 409, code: 'conflict' },
  already_imported: { status: 409, code: 'conflict' },
  approval_failed: { status: 409, code: 'conflict' },
  imported_instance: { status: 409, code: 'conflict' },
  too_many_certs: { status: 409, code: 'conflict' },
  product_unavailable: { status: 409, code: 'conflict' },
  idempotency_key_in_use: { status: 409, code: 'idempotency_key_in_use' },
  not_ready: { status: 412, code: 'conflict' },
  request_too_large: { status: 413, code: 'request_too_large' },
  unsupported_media_type: { status: 415, code: 'unsupported_media_type' },
  idempotency_key_reused: { status: 422, code: 'idempotency_key_reused' },
  rate_limited: { status: 429, code: 'rate_limited' },
  internal_error: { status: 500, code: 'internal_error' },
  service_outage: { status: 503, code: 'service_outage' },
  timeout: { status: 504, code: 'timeout' },
} as const satisfies Record<string, Reason>;

export type ReasonCode = keyof typeof reasons;

export interface RefusalDetails {
  /** Name of the parameter at fault. */
  readonly param?: string;
  readonly retryAfterS?: number;
}

/** A Problem with a code of this API, when the reason is more specific than the common codes. */
export class Refusal extends Problem {
  constructor(
    readonly reason: ReasonCode,
    message: string,
    { param, retryAfterS }: RefusalDetails = {},
  ) {
    super(reasons[reason].code, message, {
      ...(param === undefined ? {} : { field: param }),
      ...(retryAfterS === undefined ? {} : { retryAfterS }),
    });
  }
}
