import { AsyncLocalStorage } from 'node:async_hooks';
import type { DataSource, QueryRunner } from 'typeorm';

/** The statement at which the connection of one run (a job, a periodic task, a request) breaks. */
export interface ConnectionBreak {
  /** From 1; COMMIT counts as a statement. */
  readonly nth: number;
  /** `before`: failed, not applied. `after`: applied, reported as failed. */
  readonly when: 'before' | 'after';
}

interface Run {
  readonly connectionBreak: ConnectionBreak | null;
  statements: number;
  broken: boolean;
}

const runs = new AsyncLocalStorage<Run>();

/** @returns whether the connection broke during the work */
export async function withConnectionBreak(
  connectionBreak: ConnectionBreak | null,
  work: () => Promise<void>,
): Promise<boolean> {
  const run: Run = { connectionBreak, statements: 0, broken: false };
  await runs.run(run, work);
  return run.broken;
}

/** Makes every connection of a process break as configured for its run. After that, all statements of the run fail. */
export function makeBreakable(database: DataSource): void {
  const { driver } = database;
  const create = driver.createQueryRunner.bind(driver);
  driver.createQueryRunner = (mode) => breaking(create(mode));
}

function breaking(runner: QueryRunner): QueryRunner {
  const query = runner.query.bind(runner) as (...args: unknown[]) => Promise<unknown>;
  const passed = async (...args: unknown[]): Promise<unknown> => {
    const run = runs.getStore();
    // A broken connection ends its transaction.
    if (run === undefined || run.connectionBreak === null || args[0] === 'ROLLBACK')
      return await query(...args);
    run.statements += 1;
    const { nth, when } = run.connectionBreak;
    if (run.statements < nth) return await query(...args);
    if (run.statements === nth && when === 'after') await query(...args);
    run.broken = true;
    throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  };
  return Object.assign(runner, { query: passed });
}
