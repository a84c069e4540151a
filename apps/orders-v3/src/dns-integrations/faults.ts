import { Problem } from '@certwright/errors';

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
