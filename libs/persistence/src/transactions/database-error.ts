import { Problem } from '@certwright/errors';

interface DatabaseError {
  readonly code?: string;
  readonly constraint?: string;
  readonly message?: string;
  readonly driverError?: DatabaseError;
}

/** SQLSTATE (five characters), or the system's error code when there was no server to give one. */
export function errorCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, driverError } = error as DatabaseError;
  return driverError?.code ?? code;
}

/** serialization_failure, deadlock_detected. */
export function isSerializationFailure(error: unknown): boolean {
  return ['40001', '40P01'].includes(errorCodeOf(error) ?? '');
}

/** unique_violation of the index or constraint of that name. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  if (errorCodeOf(error) !== '23505') return false;
  const { constraint: own, driverError } = error as DatabaseError;
  return (driverError?.constraint ?? own) === constraint;
}

/** The database is away, changing its primary, or too busy: nothing is wrong with the request. */
const outageCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57014', // query_canceled: the statement's time was up
  '53300', // too_many_connections
  '53100', // disk_full
  '53200', // out_of_memory
  '25006', // read_only_sql_transaction: a standby answered during a fail-over
  '25P03', // idle_in_transaction_session_timeout
  '40001',
  '40P01',
]);

const outageMessages = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
];

/** Seconds after which a caller may try again. */
const outageRetryAfterS = 5;

/** Tells an outage of the database from a fault of ours; undefined for the latter. */
export function databaseProblem(error: unknown): Problem | undefined {
  const code = errorCodeOf(error);
  const message = error instanceof Error ? error.message : '';
  const away =
    (code !== undefined && (outageCodes.has(code) || code.startsWith('08'))) ||
    outageMessages.some((text) => message.includes(text));
  if (!away) return undefined;
  return new Problem('service_outage', 'The service is temporarily unavailable. Please try again.', {
    retryAfterS: outageRetryAfterS,
  });
}
