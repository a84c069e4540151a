import { databaseErrorCode, databaseOutage, Problem } from '@certwright/errors';

/** SQLSTATE of a statement timeout (query_canceled). */
const canceled = '57014';

/** SQLSTATE of a statement that a replica ended (serialization_failure). */
const recoveryConflict = '40001';

/** Maps a database error to a response; undefined: it is an internal error. */
export function databaseProblem(error: unknown): Problem | undefined {
  return databaseErrorCode(error) === canceled ? timeLimitExceeded() : databaseOutage(error);
}

/** @param reads more than one: a replica ended the earlier ones, and the query itself may be fast enough */
export function problemOfRead(error: unknown, reads: number): unknown {
  const problem = databaseProblem(error) ?? error;
  const isTimeout = problem instanceof Problem && problem.code === 'timeout';
  return isTimeout && reads > 1 ? databaseOutage({ code: recoveryConflict }) : problem;
}

export function timeLimitExceeded(): Problem {
  return new Problem('timeout', 'The query took longer than the subscription allows.');
}

/** What a request gets that expires while it waits for others: during an outage it had no other reason to wait so long. */
export class Expiry {
  private outage: Problem | undefined;

  /** @param error of the last of the others to end; absent: it succeeded */
  ended(error?: unknown): void {
    const problem = error instanceof Problem ? error : databaseProblem(error);
    this.outage = problem?.code === 'service_outage' ? problem : undefined;
  }

  get isOfOutage(): boolean {
    return this.outage !== undefined;
  }

  get problem(): Problem {
    return this.outage ?? timeLimitExceeded();
  }
}
