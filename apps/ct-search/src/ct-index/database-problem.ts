import { Problem } from '@certwright/errors';

/** The server's word for a statement whose time is up (query_canceled). */
const canceled = '57014';

/** The database is away, changing its primary, or too busy: nothing is wrong with the request. */
const outageCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '53300', // too_many_connections
  '53100', // disk_full
  '53200', // out_of_memory
  '40001', // a standby gave way to what the primary did
  '40P01',
]);

/** What the driver says of a connection that is gone, and has no code for. */
const outageMessages = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
  'Query read timeout',
];

/** Seconds after which a caller may try again. */
const outageRetryAfterS = 5;

/** What an error of the database means for the caller; undefined: it is a fault of ours. */
export function databaseProblem(error: unknown): Problem | undefined {
  const { code, message = '' } = (error ?? {}) as { readonly code?: unknown; readonly message?: string };
  if (code === canceled) return timeUp();
  const isAway =
    (typeof code === 'string' && (outageCodes.has(code) || code.startsWith('08'))) ||
    outageMessages.some((text) => message.includes(text));
  if (!isAway) return undefined;
  return new Problem('service_outage', 'The service is temporarily unavailable. Please try again.', {
    retryAfterS: outageRetryAfterS,
  });
}

export function timeUp(): Problem {
  return new Problem('timeout', 'The query took longer than the subscription allows.');
}
