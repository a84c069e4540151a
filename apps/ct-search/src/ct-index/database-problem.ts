import { databaseErrorCode, databaseOutage, Problem } from '@certwright/errors';

/** SQLSTATE of a statement timeout (query_canceled). */
const canceled = '57014';

/** Maps a database error to a response; undefined: it is an internal error. */
export function databaseProblem(error: unknown): Problem | undefined {
  return databaseErrorCode(error) === canceled ? timeLimitExceeded() : databaseOutage(error);
}

export function timeLimitExceeded(): Problem {
  return new Problem('timeout', 'The query took longer than the subscription allows.');
}
