import { Problem } from '@certwright/errors';

/** The same for an unknown name and for one of another account. */
export function noSuchMonitoredDomain(): Problem {
  return new Problem('not_found', 'The account has no monitored domain of this name.');
}

/** The same for an unknown id and for one of another account. */
export function noSuchKnownKey(): Problem {
  return new Problem('not_found', 'The account has no known key with this id.');
}

/** The same for an unknown id and for one of another account. */
export function noSuchKnownCertificate(): Problem {
  return new Problem('not_found', 'The account has no known certificate with this id.');
}

/** The same for an unknown digest and for a certificate that concerns another account only. */
export function noSuchCertificate(): Problem {
  return new Problem('not_found', 'No certificate with this digest concerns the account.');
}

export function nothingToAcknowledge(): Problem {
  return new Problem('conflict', 'The certificate is known: there is nothing to acknowledge.');
}

/** @param reason a sentence */
export function keyNotAuthorizable(reason: string): Problem {
  return new Problem('conflict', `The key of this certificate cannot be authorized. ${reason}`);
}

/** The same for an unknown name and for an endpoint of another account. */
export function noSuchEndpoint(): Problem {
  return new Problem('not_found', 'The account has no endpoint of this name.');
}

/** Each leads to a mail and webhooks. */
export const maxTestsPerHour = 5;

export function tooManyTests(retryAfterS: number): Problem {
  const message = `An account may test its alerts ${maxTestsPerHour} times an hour; the next test is due in ${retryAfterS} s.`;
  return new Problem('rate_limited', message, { retryAfterS });
}

/** @param max the limit of the account */
export function tooManyMonitoredDomains(max: number): Problem {
  return new Problem(
    'not_allowed_by_plan',
    `The account has reached its limit of monitored domains, which is ${max}: delete one, or ask the operator for more.`,
  );
}

/** Of each kind. */
export const maxKnownObjects = 10_000;

export function tooManyKnownObjects(what: 'known keys' | 'known certificates'): Problem {
  return new Problem(
    'conflict',
    `An account has ${maxKnownObjects} ${what} at most: delete one that is no longer needed.`,
  );
}

/** At the path of a monitored domain whose name is only dots, which is the path of the list. */
export function methodOfMember(): Problem {
  const allow = ['GET', 'HEAD', 'OPTIONS'];
  return new Problem('method_not_allowed', `This address accepts ${allow.join(', ')}.`, { allow });
}
