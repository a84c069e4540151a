import { databaseErrorCode, databaseOutage, Problem } from '@certwright/errors';

/** The server's word for a statement whose time is up (query_canceled). */
const canceled = '57014';

/** What an error of the database means for the caller; undefined: it is a fault of ours. */
export function databaseProblem(error: unknown): Problem | undefined {
  return databaseErrorCode(error) === canceled ? timeUp() : databaseOutage(error);
}

export function timeUp(): Problem {
  return new Problem('timeout', 'The query took longer than the subscription allows.');
}
