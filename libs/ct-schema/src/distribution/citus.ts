import type { EntityManager } from 'typeorm';

/**
 * Condition: the database has the extension Citus, so that tables may be distributed over several servers. What is read and
 * written for distributed tables is correct for others, too, but takes more statements.
 */
export const citusIsThere = `to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL`;

/** Looked up once; again after an error. */
export function citusOnce(reader: Pick<EntityManager, 'query'>): () => Promise<boolean> {
  let known: Promise<boolean> | undefined;
  return async () => {
    known ??= hasCitus(reader);
    try {
      return await known;
    } catch (error) {
      known = undefined;
      throw error;
    }
  };
}

export async function hasCitus(reader: Pick<EntityManager, 'query'>): Promise<boolean> {
  const [row] = await reader.query<{ has: boolean }[]>(`SELECT ${citusIsThere} AS has`);
  return row?.has === true;
}
