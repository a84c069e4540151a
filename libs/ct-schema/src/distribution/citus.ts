import type { EntityManager } from 'typeorm';

/**
 * Condition: the database has the extension Citus, so that tables may be distributed over several servers. What is read and
 * written for distributed tables is correct for others, too, but takes more statements.
 */
export const citusIsThere = `to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL`;

/** Looked up once; again after an error. Not a promise once it is known: pages ask several times. */
export function citusOnce(reader: Pick<EntityManager, 'query'>): () => boolean | Promise<boolean> {
  let known: boolean | Promise<boolean> | undefined;
  const lookUp = async () => {
    try {
      return (known = await hasCitus(reader));
    } catch (error) {
      known = undefined;
      throw error;
    }
  };
  return () => (known ??= lookUp());
}

export async function hasCitus(reader: Pick<EntityManager, 'query'>): Promise<boolean> {
  const [row] = await reader.query<{ has: boolean }[]>(`SELECT ${citusIsThere} AS has`);
  return row?.has === true;
}
