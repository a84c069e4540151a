import { Problem, problemExamples } from '@certwright/errors';
import {
  commonErrors,
  errorDecorators,
  ErrorExamples,
  ErrorSchema,
  renderErrorObject,
} from '@certwright/service';
import {
  clusterExists,
  clusterHasAgents,
  clusterMismatch,
  clusterNotEmpty,
  noSuchAgent,
  noSuchCertificate,
  noSuchCluster,
  noSuchDelivery,
  noSuchEnrolment,
  noSuchIntegration,
  membersChanged,
  noSuchManagedCertificate,
  noSuchManagedOrder,
  noSuchOrder,
  notAnAgent,
  notAsked,
  tooManyAgents,
  clusterKeyRequired,
  noSuchWebhook,
  nothingSent,
  tooManyEnrolments,
  tooManyIntegrations,
  tooManySecrets,
  tooManyWebhooks,
} from './problems';

const invalid = (field: string, message: string): Problem =>
  Problem.ofFields([{ field, code: 'invalid_value', message }]);

const {
  invalid_value,
  payment_required,
  unauthorized,
  already_exists,
  conflict,
  clock_skew,
  idempotency_key_in_use,
  revision_mismatch,
  idempotency_key_reused,
  provider_auth_failed,
  provider_rejected,
  provider_rate_limited,
  provider_unavailable,
} = problemExamples;

/** The errors of this API. When several have one code, the name identifies the error. */
export const errorExamples = new ErrorExamples(
  {
    ...commonErrors,
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
    bad_cluster: invalid(
      'cluster_key',
      'It must be null, or an Ed25519 public key: 32 bytes as base64url without padding, 43 characters.',
    ),
    bad_enrolment: Problem.ofFields([
      { field: 'uses', code: 'out_of_range', message: 'It must be from 1 to 1000.' },
    ]),
    bad_webhook: invalid('url', 'It does not begin with http:// or https://.'),
    bad_integration: invalid('credentials', 'deSEC refused the credentials.'),
    unexpected_member: invalid('colour', 'There is no member colour.'),
    invalid_value,
    payment_required,
    unauthorized,
    order_not_found: noSuchOrder(),
    certificate_not_found: noSuchCertificate(),
    cluster_not_found: noSuchCluster(),
    enrolment_not_found: noSuchEnrolment(),
    agent_not_found: noSuchAgent(),
    cluster_exists: clusterExists(),
    cluster_not_empty: clusterNotEmpty('www.example.com'),
    cluster_has_agents: clusterHasAgents(),
    cluster_mismatch: clusterMismatch(),
    too_many_enrolments: tooManyEnrolments(),
    managed_order_not_found: noSuchManagedOrder(),
    managed_certificate_not_found: noSuchManagedCertificate(),
    not_an_agent: notAnAgent(),
    bad_agent_request: Problem.ofFields([
      {
        field: 'keys[0].enc',
        code: 'invalid_value',
        message: 'It must be 32 bytes in base64url without padding.',
      },
    ]),
    clock_skew,
    not_asked: notAsked(),
    members_changed: membersChanged(),
    cluster_key_required: clusterKeyRequired(),
    too_many_agents: tooManyAgents(),
    webhook_not_found: noSuchWebhook(),
    delivery_not_found: noSuchDelivery(),
    integration_not_found: noSuchIntegration(),
    already_exists,
    conflict,
    too_many_webhooks: tooManyWebhooks(),
    too_many_secrets: tooManySecrets(new Date('2026-11-21T12:00:00Z')),
    nothing_sent: nothingSent(),
    too_many_integrations: tooManyIntegrations(),
    integration_lost: new Problem(
      'conflict',
      'The DNS integration can no longer be opened; create it again.',
    ),
    idempotency_key_in_use,
    revision_mismatch,
    idempotency_key_reused,
    provider_auth_failed,
    provider_rejected,
    provider_rate_limited,
    provider_unavailable,
  },
  renderErrorObject,
  ErrorSchema.name,
);

/** Name of an error → when a request fails with it. */
type Reasons = Parameters<typeof errorExamples.responses>[0];

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

/** Errors of a request on a cluster with `If-Match`. */
export const conditionedCluster: Reasons = {
  invalid_value: 'A header is not valid',
  cluster_mismatch: 'It was modified',
};

export const { FailsWith, PublicFailsWith } = errorDecorators(errorExamples);

/** The errors of an operation that agents sign, besides those of every one. */
export const SignedFailsWith = (reasons: Reasons = {}) =>
  PublicFailsWith({
    not_an_agent: 'The signature is not by a member of a cluster',
    clock_skew: 'The clock of the agent is wrong; everything else is right',
    rate_limited: 'Too many requests; see Retry-After',
    ...reasons,
  });
