import { AsyncLocalStorage } from 'node:async_hooks';
import type { DataSource, QueryRunner } from 'typeorm';

/** The statement at which the connection of one run (a job, a periodic task, a request) breaks. */
export interface Strike {
  /** From 1; COMMIT counts as a statement. */
  readonly nth: number;
  /** `before`: failed, not applied. `after`: applied, reported as failed. */
  readonly when: 'before' | 'after';
}

interface Run {
  readonly strike: Strike | null;
  statements: number;
  struck: boolean;
}

const runs = new AsyncLocalStorage<Run>();

/** @returns whether the connection broke during the work */
export async function withStrike(strike: Strike | null, work: () => Promise<void>): Promise<boolean> {
  const run: Run = { strike, statements: 0, struck: false };
  await runs.run(run, work);
  return run.struck;
}

/** Whether the connection of the current run has broken. */
export function isStruck(): boolean {
  return runs.getStore()?.struck ?? false;
}

/** Makes every connection of a process break as configured for its run. After that, all statements of the run fail. */
export function strikeable(database: DataSource): void {
  const { driver } = database;
  const create = driver.createQueryRunner.bind(driver);
  driver.createQueryRunner = (mode) => breaking(create(mode));
}

function breaking(runner: QueryRunner): QueryRunner {
  const query = runner.query.bind(runner) as (...args: unknown[]) => Promise<unknown>;
  const passed = async (...args: unknown[]): Promise<unknown> => {
    const run = runs.getStore();
    // A broken connection ends its transaction.
    if (run === undefined || run.strike === null || args[0] === 'ROLLBACK') return await query(...args);
    run.statements += 1;
    const { nth, when } = run.strike;
    if (run.statements < nth) return await query(...args);
    if (run.statements === nth && when === 'after') await query(...args);
    run.struck = true;
    throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  };
  return Object.assign(runner, { query: passed });
}
