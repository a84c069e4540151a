import { type Problem, problemExamples } from '@certwright/errors';
import { ErrorExamples } from '@certwright/service';
import { renderProblem } from '../problem';
import { type ReasonCode, Refusal, type RefusalDetails } from '../reasons';

/** Condition of the error; example message, default: the common one; name of its parameter. */
type Row = readonly [when: string, message?: string, param?: string | RefusalDetails];

/** Errors of documented operations; details are in docs/errors.md. */
const documented = {
  bad_bitsize: [
    'The RSA key of csr has not 2048, 3072 or 4096 bits',
    'The RSA key has 1024 bits; it must have 2048, 3072 or 4096.',
    'csr',
  ],
  bad_csr: ['csr cannot be used', 'The CSR is not signed by its own key.', 'csr'],
  bad_cn: [
    'The common name is not one that a certificate can have, or not that of csr',
    '"localhost" is no public domain.',
    'cn',
  ],
  bad_country: [
    'The country is not a code of ISO 3166-1',
    'country must be a two-letter code of ISO 3166-1, GB for instance.',
    'country',
  ],
  bad_curve: [
    'The ECDSA key of csr is not on P-256 or P-384',
    'The ECDSA key is not on P-256 or P-384.',
    'csr',
  ],
  bad_keytype: [
    'The key of csr is neither RSA nor ECDSA',
    'The key of the CSR is neither RSA nor ECDSA.',
    'csr',
  ],
  bad_sans: ['The SANs are not valid', 'sans must be null, or a list of SAN objects.', 'sans'],
  bad_tags: ['The tags are not valid', 'tags must be a list of texts.', 'tags'],
  bad_type: ['type is neither dv nor ev, or is not offered', 'type must be dv or ev.', 'type'],
  bad_approval_method: [
    'The approval method is not possible',
    'approval_method must be email, http or dns.',
    'approval_method',
  ],
  bad_approver_email: [
    'The address may not approve the name',
    'The approval method email needs an approver_email.',
    'approver_email',
  ],
  bad_certificate: ['The certificate cannot be used', 'crt must be one certificate in PEM.', 'crt'],
  missing_param: ['A required argument is missing', 'crt is required here.', 'crt'],
  bad_param: [
    'An argument or a header is not valid',
    'limit must be a whole number from 1 to 1000.',
    'limit',
  ],
  bad_request: ['The body is neither a form nor a JSON object'],
  bad_credentials: ['No API key, or not a valid one'],
  payment_required: ['Balance and credit limit of the account do not cover what it costs'],
  unauthorized: ['The API key is disabled, or lacks the permission'],
  no_such_cert: ['No such certificate object', 'The account has no certificate of this common name.'],
  no_such_instance: ['No such instance', 'The certificate has no such instance.'],
  no_such_pubkey_hash: ['No instance has this key', 'No instance of this certificate has this key.'],
  no_such_invoice: ['No such invoice', 'The account has no invoice of this number.'],
  template_not_found: ['No such template', 'There is no such template; available: apache, nginx.', 'name'],
  not_found: ['Not known', 'The newest version of the client is not known.'],
  inactive_cert: ['No instance is active', 'No instance of this certificate is active: buy one.'],
  no_pending_instance: ['No instance is pending', 'No instance of this certificate is pending.'],
  already_pending: [
    'The same is pending already',
    'The instance 172594820411904 with the same details is pending already.',
  ],
  already_imported: [
    'The certificate was imported already',
    'The certificate is already stored as instance 172594820411904.',
    'crt',
  ],
  imported_instance: [
    'The active instance was imported',
    'The active instance was imported, and only its issuer can reissue it; buy one here.',
  ],
  too_many_certs: [
    'The account has as many certificate objects as it may have',
    'The account has 100000 certificate objects, the maximum. Reuse one, or ask the operator to raise MAX_CERT_OBJECTS.',
  ],
  product_unavailable: [
    'Certificates of this type are not sold at present',
    'Certificates of this type are not sold at present.',
  ],
  idempotency_key_in_use: ['The Idempotency-Key is in use'],
  not_ready: [
    'The instance is still pending; see retry_after',
    'The certificate instance is still pending.',
    { retryAfterS: 5 },
  ],
  request_too_large: ['The body is over 256 KiB'],
  unsupported_media_type: ['The body is neither a form nor JSON'],
  idempotency_key_reused: ['The Idempotency-Key was used with another body'],
  rate_limited: ['Too many requests; see retry_after'],
  internal_error: ['An error of the service; retry with back-off'],
  service_outage: ['Temporarily unavailable; see retry_after'],
} as const satisfies Partial<Readonly<Record<ReasonCode, Row>>>;

export type DocumentedReason = keyof typeof documented;

function exampleOf(reason: ReasonCode, [, message, param]: Row): Problem {
  if (message === undefined) return problemExamples[reason as keyof typeof problemExamples];
  return new Refusal(reason, message, typeof param === 'string' ? { param } : param);
}

const examples = Object.entries<Row>(documented).map(([reason, row]) => [
  reason,
  exampleOf(reason as DocumentedReason, row),
]);

export const errorExamples = new ErrorExamples(
  Object.fromEntries(examples) as Readonly<Record<DocumentedReason, Problem>>,
  renderProblem,
  'Error',
);

export const errorResponses = (reasons: readonly DocumentedReason[]) =>
  errorExamples.responses(Object.fromEntries(reasons.map((reason) => [reason, documented[reason][0]])));
