import { type AddressGuard, guardedRequest } from '@certwright/outbound';
import type { DeliverPorts } from './deliver-webhook';

/** Of an answer nothing is used but its status and `Retry-After`; a body is taken in so far only, octets. */
const mostAnswerBytes = 16_384;

export function postThrough(guard: AddressGuard): DeliverPorts['post'] {
  return async (request) => {
    const question = { ...request, method: 'POST', maxResponseBytes: mostAnswerBytes };
    const { status, headers } = await guardedRequest(guard, question);
    return { status, retryAfter: headers['retry-after'] ?? null };
  };
}
