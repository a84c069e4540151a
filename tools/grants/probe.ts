import type { DataSource } from 'typeorm';

/**
 * Determines the privileges of a statement by explaining it as the role without one of them. The
 * server checks privileges when it starts a plan, and EXPLAIN starts it. Functions are not analysed: those that roles
 * call run as their owner.
 */
const functions = [
  `CREATE FUNCTION probe_problem(statement text) RETURNS text LANGUAGE plpgsql AS $$
   BEGIN
     EXECUTE 'EXPLAIN (GENERIC_PLAN) ' || statement;
     RETURN NULL;
   EXCEPTION WHEN OTHERS THEN
     RETURN SQLERRM;
   END $$`,
  `CREATE FUNCTION probe_refuses(role_name text, statement text) RETURNS boolean LANGUAGE plpgsql AS $$
   BEGIN
     EXECUTE format('SET LOCAL ROLE %I', role_name);
     BEGIN
       EXECUTE 'EXPLAIN (GENERIC_PLAN) ' || statement;
     EXCEPTION WHEN insufficient_privilege THEN
       RESET ROLE;
       RETURN true;
     END;
     RESET ROLE;
     RETURN false;
   END $$`,
  // Whether any of the statements is refused without these privileges, which are restored afterwards.
  `CREATE FUNCTION probe_needs(role_name text, privileges text[], statements text[]) RETURNS boolean LANGUAGE plpgsql AS $$
   DECLARE
     privilege text;
     statement text;
     needed boolean := false;
   BEGIN
     BEGIN
       FOREACH privilege IN ARRAY privileges LOOP
         EXECUTE format('REVOKE %s FROM %I', privilege, role_name);
       END LOOP;
       FOREACH statement IN ARRAY statements LOOP
         IF probe_refuses(role_name, statement) THEN
           needed := true;
           EXIT;
         END IF;
       END LOOP;
       -- Undoes the revocation.
       RAISE SQLSTATE 'ZZ000';
     EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
       NULL;
     END;
     RETURN needed;
   END $$`,
];

/** Creates what `Probe` needs in a database. */
export async function createProbe(database: DataSource): Promise<void> {
  for (const statement of functions) await database.query(statement);
}

export class Probe {
  constructor(private readonly database: DataSource) {}

  /** @returns by statement, the error why the owner cannot run it, so that its required grants are unknown */
  async unexplained(statements: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.database.query<{ statement: string; problem: string }[]>(
      `SELECT statement, problem
       FROM unnest($1::text[]) AS statement, probe_problem(statement) AS problem WHERE problem IS NOT NULL`,
      [statements],
    );
    return new Map(rows.map(({ statement, problem }) => [statement, problem]));
  }

  /** By the name of the partitioned table. */
  async partitions(): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await this.database.query<{ parent: string; names: string[] }[]>(
      `SELECT inhparent::regclass::text AS parent, array_agg(inhrelid::regclass::text) AS names
       FROM pg_inherits JOIN pg_class ON pg_class.oid = inhparent WHERE relkind = 'p' GROUP BY 1`,
    );
    return new Map(rows.map(({ parent, names }) => [parent, names]));
  }

  /** @returns the statements that the role may not run */
  async refused(role: string, statements: readonly string[]): Promise<string[]> {
    const rows = await this.database.query<{ statement: string }[]>(
      `SELECT statement FROM unnest($2::text[]) AS statement WHERE probe_refuses($1, statement)`,
      [role, statements],
    );
    return rows.map(({ statement }) => statement);
  }

  /** Whether a role without these privileges is refused one of the statements. */
  async needs(role: string, privileges: readonly string[], statements: readonly string[]): Promise<boolean> {
    if (statements.length === 0) return false;
    const [row] = await this.database.query<[{ needed: boolean }]>(
      `SELECT probe_needs($1, $2::text[], $3::text[]) AS needed`,
      [role, privileges, statements],
    );
    return row.needed;
  }
}
