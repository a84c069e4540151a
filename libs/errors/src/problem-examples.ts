import { Problem } from './problem';
import type { ProblemCode } from './problem-codes';

/** One Problem of each code, as a process throws it: the examples of errors in OpenAPI documents. */
export const problemExamples = {
  bad_request: new Problem('bad_request', 'The body is not JSON.'),
  bad_query: new Problem('bad_query', 'The query is not valid: see limit.', {
    faults: [{ field: 'limit', code: 'out_of_range', message: 'It must be from 1 to 100.' }],
  }),
  missing_field: new Problem('missing_field', 'This field is required.', { field: 'domain' }),
  invalid_value: new Problem(
    'invalid_value',
    'An Idempotency-Key has 1 to 255 visible ASCII characters, without spaces.',
    { field: 'Idempotency-Key' },
  ),
  out_of_range: new Problem('out_of_range', 'The TTL is from 30 to 3600 whole seconds.', {
    field: 'record.ttl',
  }),
  bad_credentials: new Problem('bad_credentials', 'There is no such API key.'),
  clock_skew: new Problem(
    'clock_skew',
    'The request was signed at 2026-11-20T11:00:00Z by the clock of the agent, which is 3600 s behind. Correct the clock by the Date header, and sign again.',
  ),
  bad_handle: new Problem(
    'bad_handle',
    'The handle does not open for this account, integration and provider.',
    { field: 'integration' },
  ),
  payment_required: new Problem(
    'payment_required',
    '20.00 USD is due, and 5.00 USD is available. Please add to the balance of the account.',
  ),
  unauthorized: new Problem(
    'unauthorized',
    'This API key lacks the permission "Order and Manage Certificates".',
  ),
  disabled_credentials: new Problem('disabled_credentials', 'This API key is disabled.'),
  not_allowed_by_plan: new Problem('not_allowed_by_plan', 'The subscription does not include the firehose.'),
  policy_violation: new Problem(
    'policy_violation',
    'A CNAME record cannot coexist with others; it replaces them.',
    { field: 'record.replace' },
  ),
  not_found: new Problem('not_found', 'There is nothing at this address.'),
  zone_not_found: new Problem(
    'zone_not_found',
    'No zone of the integration holds _acme-challenge.example.org.',
    { field: 'record.fqdn' },
  ),
  method_not_allowed: new Problem('method_not_allowed', 'This address accepts GET, HEAD, OPTIONS.', {
    allow: ['GET', 'HEAD', 'OPTIONS'],
  }),
  already_exists: new Problem('already_exists', 'The account has an order of this name already.', {
    field: 'name',
  }),
  conflict: new Problem('conflict', 'The certificate has expired; there is nothing left to revoke.'),
  record_conflict: new Problem('record_conflict', 'There is a CNAME record at this name already.'),
  cluster_not_empty: new Problem(
    'cluster_not_empty',
    'Orders name this cluster, such as www.example.com: delete them, or set their cluster to null or to another one.',
  ),
  cluster_key_required: new Problem(
    'cluster_key_required',
    'The cluster has no cluster key, so it can have one agent only. Create a cluster key, set it in the cluster, and enrol all hosts with it.',
  ),
  members_changed: new Problem(
    'members_changed',
    'The keys are not sealed for exactly the present agents of the cluster: read the members again, then seal the key for each of them.',
  ),
  not_asked: new Problem(
    'not_asked',
    'No CSR of this agent is requested for the order at present, or the task is an old one.',
  ),
  idempotency_key_in_use: new Problem(
    'idempotency_key_in_use',
    'A request with this Idempotency-Key is still being carried out.',
    { retryAfterS: 1 },
  ),
  lagging_client: new Problem(
    'lagging_client',
    'Issuances after this id were discovered more than 24 hours ago and are no longer streamed. Omit after to start again with the last hour.',
    { field: 'after' },
  ),
  revision_mismatch: new Problem('revision_mismatch', 'The order has been modified: its revision is 4 now.'),
  request_too_large: new Problem('request_too_large', 'The body is larger than 256 KiB.'),
  unsupported_media_type: new Problem(
    'unsupported_media_type',
    'A body of this Content-Type is not read here.',
  ),
  idempotency_key_reused: new Problem(
    'idempotency_key_reused',
    'This Idempotency-Key was used with another request body.',
  ),
  rate_limited: new Problem(
    'rate_limited',
    'This API key may send 10 writes a second; the next one is due in 1 s.',
    { retryAfterS: 1 },
  ),
  internal_error: new Problem('internal_error', 'Something went wrong on our side.'),
  provider_auth_failed: new Problem('provider_auth_failed', 'deSEC refused the credentials.'),
  provider_rejected: new Problem('provider_rejected', 'deSEC refused the request.'),
  provider_rate_limited: new Problem('provider_rate_limited', 'deSEC limits the rate of requests.', {
    retryAfterS: 60,
  }),
  provider_unavailable: new Problem('provider_unavailable', 'desec.io did not respond within 10 s.', {
    retryAfterS: 30,
  }),
  service_outage: new Problem('service_outage', 'The service is temporarily unavailable. Please try again.', {
    retryAfterS: 5,
  }),
  timeout: new Problem('timeout', 'The query took longer than the subscription allows.'),
} as const satisfies Readonly<Record<ProblemCode, Problem>>;
