import type { DataSource } from 'typeorm';

/** They need no privilege on a table. */
const control =
  /^(BEGIN|START TRANSACTION|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET|RESET|SHOW|DISCARD|DEALLOCATE)\b/i;
const temporary = /^CREATE TEMPORARY TABLE\b/i;
/** Of temporary tables, which belong to the session. */
const ofTemporary = /^(TRUNCATE|ANALYZE)\b/i;
const copy = /^COPY\s+(\w+)\s*\(([^)]*)\)\s+FROM STDIN/i;

/** Temporary tables of the code as permanent ones, so that statements with them can be explained. */
export const temporaryTables = [
  `CREATE TABLE ct_listed (serial bytea, revoked_at timestamptz, reason smallint)`,
  `CREATE TABLE ct_change (nth integer PRIMARY KEY, serial bytea, revoked_at timestamptz, reason smallint)`,
  `CREATE TABLE ct_known_moved (position bigint, tbs uuid, not_after timestamptz)`,
  `GRANT ALL ON ct_listed, ct_change, ct_known_moved TO PUBLIC`,
];

/** Partitions have other numbers in each database. */
export async function partitionNames(database: DataSource): Promise<(statement: string) => string> {
  const [{ end }] = await database.query<[{ end: string }]>(
    `SELECT max(end_position) AS end FROM ct_partition`,
  );
  const [{ month }] = await database.query<[{ month: string }]>(
    `SELECT max(relname) AS month FROM pg_class WHERE relname ~ '^ct_known_\\d{6}$'`,
  );
  return (statement) =>
    statement
      .replaceAll(/\bct_(issuance|block)_p\d+\b/g, `ct_$1_p${end}`)
      .replaceAll(/\bct_known_\d{6}\b/g, month);
}

export interface ProbedStatements {
  /** In a form that EXPLAIN accepts; fewer than logged ones, because many differ only in the name of a partition. */
  readonly statements: readonly string[];
  readonly usesTemporaryTables: boolean;
}

export function probedStatements(
  logged: Iterable<string>,
  renamed: (statement: string) => string,
): ProbedStatements {
  const statements = new Set<string>();
  let usesTemporaryTables = false;
  for (const text of logged) {
    usesTemporaryTables ||= temporary.test(text);
    if (!control.test(text) && !temporary.test(text) && !ofTemporary.test(text))
      statements.add(renamed(explained(text)));
  }
  return { statements: [...statements], usesTemporaryTables };
}

/** COPY cannot be explained; it needs what an INSERT of the same columns needs. */
function explained(text: string): string {
  const [, table, columns] = copy.exec(text) ?? [];
  if (table === undefined || columns === undefined) return text;
  const nulls = columns.split(',').map(() => 'NULL');
  return `INSERT INTO ${table} (${columns}) VALUES (${nulls.join(', ')})`;
}
