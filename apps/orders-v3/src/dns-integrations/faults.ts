import { Problem } from '@certwright/errors';
import { mostDnsIntegrations } from '@certwright/dns-integrations';

/** The same for an id that nobody has and for one that another account has. */
export function noSuchIntegration(): Problem {
  return new Problem('not_found', 'The account has no DNS integration with this id.');
}

export function tooManyIntegrations(): Problem {
  return new Problem(
    'conflict',
    `An account has ${mostDnsIntegrations} DNS integrations at most: delete one that is no longer needed.`,
  );
}

/** Where the operator runs no gateway the list of providers is empty, so every provider is one that is not offered. */
export function noGateway(): Problem {
  return Problem.ofFields([
    {
      field: 'provider',
      code: 'invalid_value',
      message: 'No DNS provider can be integrated here: this deployment has no DNS gateway.',
    },
  ]);
}

/** A positive integer that JSON's numbers hold, written as a number is. */
export function isIntegrationId(text: string): boolean {
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}
