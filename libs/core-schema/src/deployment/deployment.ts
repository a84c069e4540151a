import type { DataSource } from 'typeorm';

export type DeploymentMode = 'sandbox' | 'production';

/**
 * Marks the database as belonging to this mode when it is new, and refuses a process of the other mode: a sandbox must
 * never touch the accounts of production, nor the reverse.
 */
export async function claimDeployment(database: DataSource, mode: DeploymentMode): Promise<void> {
  await database.query(`INSERT INTO deployment (mode) VALUES ($1) ON CONFLICT DO NOTHING`, [mode]);
  const [row] = await database.query<[{ mode: DeploymentMode }]>(`SELECT mode FROM deployment`);
  if (row.mode !== mode) {
    throw new Error(
      `This database belongs to a ${row.mode} deployment, but CERTWRIGHT_MODE is ${mode}. ` +
        `Sandbox and production need a database each: point DATABASE_URL to the right one.`,
    );
  }
}
