/** What distinguishes a deployment from all others, also from those of the same mode. */
export interface DeploymentIdentity {
  readonly mode: 'sandbox' | 'production';
  readonly id: string;
}

/** undefined_column and insufficient_privilege: the migration that adds the id has not run yet. */
const olderSchema: readonly unknown[] = ['42703', '42501'];

/**
 * @param core the core database; rejects with the error of the driver
 * @returns null while the schema is older than the identity
 * @throws Error when the database belongs to no deployment yet, or is unavailable
 */
export async function deploymentIdentity(core: {
  query(statement: string): Promise<readonly DeploymentIdentity[]>;
}): Promise<DeploymentIdentity | null> {
  let rows: readonly DeploymentIdentity[];
  try {
    rows = await core.query(`SELECT mode, id FROM deployment`);
  } catch (error) {
    if (olderSchema.includes((error as { readonly code?: unknown }).code)) return null;
    throw error;
  }
  const [identity] = rows;
  if (identity === undefined)
    throw new Error('This database belongs to no deployment yet: start issuance-worker or an API first.');
  return identity;
}
