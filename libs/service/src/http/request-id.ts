import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { containsPrivateKey } from '@certwright/errors';

/** What a caller may name its request: short, and harmless in a header and in a log line. */
const wellFormed = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's `X-Request-Id` when it is well-formed and no private key, which fits in; else one of ours. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && wellFormed.test(given) && !containsPrivateKey(given)
    ? given
    : randomUUID();
}
