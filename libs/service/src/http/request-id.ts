import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { containsPrivateKey } from '@certwright/errors';

/** Accepted request ids: short, and harmless in a header and in a log line. */
const wellFormed = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's `X-Request-Id` if it is well-formed and not a private key; otherwise a new id. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && wellFormed.test(given) && !containsPrivateKey(given)
    ? given
    : randomUUID();
}
