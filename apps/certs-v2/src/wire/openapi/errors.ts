import { type Problem, problemExamples } from '@certwright/errors';
import { ErrorExamples } from '@certwright/service';
import { renderProblem } from '../problem';
import { type ReasonCode, type RefusalDetails, Refusal } from '../reasons';

const of = (param: string): RefusalDetails => ({ param });
const refusal = (reason: ReasonCode, message: string, details?: RefusalDetails): Problem =>
  new Refusal(reason, message, details);

const examples = {
  bad_bitsize: refusal(
    'bad_bitsize',
    'The RSA key has 1024 bits; it must have 2048, 3072 or 4096.',
    of('csr'),
  ),
  bad_csr: refusal('bad_csr', 'The CSR is not signed by its own key.', of('csr')),
  bad_cn: refusal('bad_cn', '"localhost" is no public domain.', of('cn')),
  bad_country: refusal(
    'bad_country',
    'country must be a two-letter code of ISO 3166-1, GB for instance.',
    of('country'),
  ),
  bad_curve: refusal('bad_curve', 'The ECDSA key is not on P-256 or P-384.', of('csr')),
  bad_keytype: refusal('bad_keytype', 'The key of the CSR is neither RSA nor ECDSA.', of('csr')),
  bad_sans: refusal('bad_sans', 'sans must be null, or a list of SAN objects.', of('sans')),
  bad_tags: refusal('bad_tags', 'tags must be a list of texts.', of('tags')),
  bad_type: refusal('bad_type', 'type must be dv or ev.', of('type')),
  bad_approval_method: refusal(
    'bad_approval_method',
    'approval_method must be email, http or dns.',
    of('approval_method'),
  ),
  bad_approver_email: refusal(
    'bad_approver_email',
    'The approval method email needs an approver_email.',
    of('approver_email'),
  ),
  bad_certificate: refusal('bad_certificate', 'crt must be one certificate in PEM.', of('crt')),
  missing_param: refusal('missing_param', 'crt is required here.', of('crt')),
  bad_param: refusal('bad_param', 'limit must be a whole number from 1 to 1000.', of('limit')),
  bad_request: problemExamples.bad_request,
  bad_credentials: problemExamples.bad_credentials,
  payment_required: problemExamples.payment_required,
  unauthorized: problemExamples.unauthorized,
  no_such_cert: refusal('no_such_cert', 'The account has no certificate of this common name.'),
  no_such_instance: refusal('no_such_instance', 'The certificate has no such instance.'),
  no_such_pubkey_hash: refusal('no_such_pubkey_hash', 'No instance of this certificate has this key.'),
  no_such_invoice: refusal('no_such_invoice', 'The account has no invoice of this number.'),
  template_not_found: refusal(
    'template_not_found',
    'There is no such template. There are: apache, nginx.',
    of('name'),
  ),
  not_found: refusal('not_found', 'The newest version of the client is not known.'),
  inactive_cert: refusal('inactive_cert', 'No instance of this certificate is active: buy one.'),
  no_pending_instance: refusal('no_pending_instance', 'No instance of this certificate is pending.'),
  already_pending: refusal(
    'already_pending',
    'The instance 172594820411904 with the same details is pending already.',
  ),
  already_imported: refusal(
    'already_imported',
    'The certificate is there already, as the instance 172594820411904.',
    of('crt'),
  ),
  imported_instance: refusal(
    'imported_instance',
    'The active instance was imported, and only who issued it can reissue it: buy one here.',
  ),
  too_many_certs: refusal(
    'too_many_certs',
    'The account has 100000 certificate objects, the maximum. Reuse one, or ask the operator to raise MAX_CERT_OBJECTS.',
  ),
  product_unavailable: refusal('product_unavailable', 'Certificates of this type are not sold at present.'),
  idempotency_key_in_use: problemExamples.idempotency_key_in_use,
  not_ready: refusal('not_ready', 'The certificate instance is still pending.', { retryAfterS: 5 }),
  request_too_large: problemExamples.request_too_large,
  unsupported_media_type: problemExamples.unsupported_media_type,
  idempotency_key_reused: problemExamples.idempotency_key_reused,
  rate_limited: problemExamples.rate_limited,
  internal_error: problemExamples.internal_error,
  service_outage: problemExamples.service_outage,
} as const satisfies Partial<Readonly<Record<ReasonCode, Problem>>>;

/** Reasons by which documented operations fail. */
export type DocumentedReason = keyof typeof examples;

export const errorExamples = new ErrorExamples(examples, renderProblem, 'Error');

/** When each happens; docs/errors.md says more. */
const when: Readonly<Record<DocumentedReason, string>> = {
  bad_bitsize: 'The RSA key of csr has not 2048, 3072 or 4096 bits',
  bad_csr: 'csr cannot be used',
  bad_cn: 'The common name is not one that a certificate can have, or not that of csr',
  bad_country: 'The country is not a code of ISO 3166-1',
  bad_curve: 'The ECDSA key of csr is not on P-256 or P-384',
  bad_keytype: 'The key of csr is neither RSA nor ECDSA',
  bad_sans: 'The SANs are not valid',
  bad_tags: 'The tags are not valid',
  bad_type: 'type is neither dv nor ev, or is not offered',
  bad_approval_method: 'The approval method is not possible',
  bad_approver_email: 'The address may not approve the name',
  bad_certificate: 'The certificate cannot be used',
  missing_param: 'A required argument is missing',
  bad_param: 'An argument or a header is not valid',
  bad_request: 'The body is neither a form nor a JSON object',
  bad_credentials: 'No API key, or not a valid one',
  payment_required: 'Balance and credit limit of the account do not cover what it costs',
  unauthorized: 'The API key is disabled, or lacks the permission',
  no_such_cert: 'No such certificate object',
  no_such_instance: 'No such instance',
  no_such_pubkey_hash: 'No instance has this key',
  no_such_invoice: 'No such invoice',
  template_not_found: 'No such template',
  not_found: 'Not known',
  inactive_cert: 'No instance is active',
  no_pending_instance: 'No instance is pending',
  already_pending: 'The same is pending already',
  already_imported: 'The certificate was imported already',
  imported_instance: 'The active instance was imported',
  too_many_certs: 'The account has as many certificate objects as it may have',
  product_unavailable: 'Certificates of this type are not sold at present',
  idempotency_key_in_use: 'The Idempotency-Key is in use',
  not_ready: 'The instance is still pending; see retry_after',
  request_too_large: 'The body is over 256 KiB',
  unsupported_media_type: 'The body is neither a form nor JSON',
  idempotency_key_reused: 'The Idempotency-Key was used with another body',
  rate_limited: 'Too many requests; see retry_after',
  internal_error: 'A fault of the service; repeat with back-off',
  service_outage: 'Temporarily unavailable; see retry_after',
};

export const errorResponses = (reasons: readonly DocumentedReason[]) =>
  errorExamples.responses(Object.fromEntries(reasons.map((reason) => [reason, when[reason]])));
