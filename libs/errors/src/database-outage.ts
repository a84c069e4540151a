import { Problem } from './problem';

/** Of PostgreSQL's driver, or around it one of TypeORM. */
interface DatabaseError {
  readonly code?: unknown;
  readonly driverError?: DatabaseError;
}

/** SQLSTATE (five characters), or the system's error code when there was no server to give one. */
export function databaseErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, driverError } = error as DatabaseError;
  const own = driverError?.code ?? code;
  return typeof own === 'string' ? own : undefined;
}

/** The database cannot be reached, or is changing its primary. */
const unreachableCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P04', // database_dropped: it is being restored
  '25006', // read_only_sql_transaction: a standby answered during a fail-over
  '28000', // invalid_authorization_specification
  '28P01', // invalid_password: it was changed, and the process has not read the new one yet
  '3D000', // invalid_catalog_name: the database is being restored, or a pooler does not know it yet
]);

/** The database is too busy. */
const busyCodes: ReadonlySet<string> = new Set([
  '57014', // query_canceled: the statement's time was up
  '53300', // too_many_connections
  '53100', // disk_full
  '53200', // out_of_memory
  '25P03', // idle_in_transaction_session_timeout
  '40001', // also a standby that gave way to what the primary did
  '40P01',
]);

/** What the driver says of a connection that is gone, and has no code for. */
const unreachableMessages = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
  'Query read timeout',
  // TypeORM releases the runner of a transaction when its connection is lost between two statements.
  'Query runner already released',
  'provided by a query runner was already released',
];

/** Seconds after which a caller may try again. */
const outageRetryAfterS = 5;

/** Whether an error says that the database cannot be reached at this moment: the same statement may succeed when it is back. */
export function isDatabaseUnreachable(error: unknown): boolean {
  const code = databaseErrorCode(error);
  // Class 08 has what a pooler reports: no server, a queue or login that takes too long, no more connections.
  if (code !== undefined && (unreachableCodes.has(code) || code.startsWith('08'))) return true;
  const message = error instanceof Error ? error.message : '';
  return unreachableMessages.some((text) => message.includes(text));
}

/** Tells an outage of the database, which is unreachable or too busy, from a fault of ours; undefined for the latter. */
export function databaseOutage(error: unknown): Problem | undefined {
  if (!isDatabaseUnreachable(error) && !busyCodes.has(databaseErrorCode(error) ?? '')) return undefined;
  return new Problem('service_outage', 'The service is temporarily unavailable. Please try again.', {
    retryAfterS: outageRetryAfterS,
  });
}
