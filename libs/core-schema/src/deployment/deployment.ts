import { setTimeout as delay } from 'node:timers/promises';
import { StartFault } from '@certwright/errors';
import type { DataSource } from 'typeorm';

export type DeploymentMode = 'sandbox' | 'production';

/**
 * Marks the database as belonging to this mode when it is new, and refuses a process of the other mode: a sandbox must
 * never touch the accounts of production, nor the reverse.
 */
export async function claimDeployment(database: DataSource, mode: DeploymentMode): Promise<void> {
  if ((await modeOf(database)) === undefined)
    await database.query(`INSERT INTO deployment (mode) VALUES ($1) ON CONFLICT DO NOTHING`, [mode]);
  requireMode(await modeOf(database), mode);
}

/** Processes that claim the database start at the same time. */
const claimedWithinMs = 30_000;
const pollMs = 250;

/** The same for a process whose role may not write: waits until another process has claimed the database. */
export async function awaitDeployment(
  database: DataSource,
  mode: DeploymentMode,
  patienceMs = claimedWithinMs,
): Promise<void> {
  const until = performance.now() + patienceMs;
  let found = await modeOf(database);
  while (found === undefined && performance.now() < until) {
    await delay(pollMs);
    found = await modeOf(database);
  }
  requireMode(found, mode);
}

async function modeOf(database: DataSource): Promise<DeploymentMode | undefined> {
  const [row] = await database.query<[{ mode: DeploymentMode }?]>(`SELECT mode FROM deployment`);
  return row?.mode;
}

function requireMode(found: DeploymentMode | undefined, mode: DeploymentMode): void {
  if (found === mode) return;
  if (found === undefined)
    throw new StartFault(
      'DATABASE_URL: this database belongs to no deployment yet: start issuance-worker or an API first.',
    );
  throw new StartFault(
    `the database in DATABASE_URL belongs to a ${found} deployment, but CERTWRIGHT_MODE is ${mode}. ` +
      `Sandbox and production need a database each: point DATABASE_URL to the right one.`,
  );
}
