import { Problem, problemExamples } from '@certwright/errors';
import { ErrorExamples, renderErrorObject } from '@certwright/service';

const {
  bad_credentials,
  disabled_credentials,
  not_allowed_by_plan,
  lagging_client,
  internal_error,
  service_outage,
  timeout,
} = problemExamples;

export const errorExamples = new ErrorExamples(
  {
    bad_query: new Problem('bad_query', 'The query cannot be answered as it stands: see after.', {
      faults: [{ field: 'after', code: 'invalid_value', message: 'It must be the id of an issuance, once.' }],
    }),
    bad_credentials,
    payment_required: new Problem('payment_required', 'The subscription is suspended: it has not been paid.'),
    unauthorized: new Problem('unauthorized', 'This API key lacks the permission "Search Certificates".'),
    disabled_credentials,
    not_allowed_by_plan,
    not_found: new Problem('not_found', 'There is no issuance with this id.'),
    lagging_client,
    rate_limited: new Problem(
      'rate_limited',
      'Too many requests without an API key came from this address; the next one is due in 360 s.',
      { retryAfterS: 360 },
    ),
    internal_error,
    service_outage,
    timeout,
  },
  renderErrorObject,
  'Error',
);

/** Name of an error → when an operation fails so. */
export type Reasons = Parameters<typeof errorExamples.responses>[0];

/** By which every operation may fail. */
export const failsAnyway: Reasons = {
  internal_error: 'A fault of the service; repeat with back-off',
};

/** By which an operation that reads the index may fail. */
export const failsReading: Reasons = {
  service_outage: 'Temporarily unavailable; see Retry-After',
  timeout: 'The query took longer than the subscription allows',
};

/** By which an operation that takes an API key may fail. */
export const failsWithKey: Reasons = {
  bad_credentials: 'The API key is not valid, or is needed and missing',
  payment_required: 'The subscription has not been paid',
  unauthorized: 'The API key lacks the permission',
  disabled_credentials: 'The API key is disabled',
  rate_limited: 'Too many requests; see Retry-After',
};
