import { privilegesOf, type RoleGrants } from './role-grants';

/** As `privilegesOf` writes them: privilege, column, table. */
const ofTable = /^(\w+)(?: \((\w+)\))? ON (\w+)$/;
const ofFunction = /^EXECUTE ON FUNCTION (.+)$/;
const ofSequence = /^USAGE ON SEQUENCE (\w+)$/;

/**
 * Grants of a process that the connection's user lacks, of what exists: a table or column that the newest migration adds may
 * be missing. `migrate` adds grants after the migrations, and a release may have new grants without a migration.
 */
export async function missingPrivileges(
  query: (text: string) => Promise<readonly object[]>,
  grants: RoleGrants,
): Promise<string[]> {
  const wanted = privilegesOf({ ...grants, retiring: [] });
  const rows = (kind: RegExp, row: (match: RegExpExecArray) => string) =>
    wanted.flatMap((privilege) => {
      const match = kind.exec(privilege);
      return match === null ? [] : [`(${quoted(privilege)}, ${row(match)})`];
    });
  const tables = rows(ofTable, ([, privilege = '', column, table = '']) =>
    [quoted(privilege), column === undefined ? 'NULL' : quoted(column), quoted(table)].join(', '),
  );
  const functions = rows(ofFunction, ([, signature = '']) => quoted(signature));
  const sequences = rows(ofSequence, ([, sequence = '']) => quoted(sequence));
  const statements = [
    tables.length > 0 &&
      `SELECT wanted.whole FROM (VALUES ${tables.join(', ')}) AS wanted (whole, privilege, name, relation)
       JOIN pg_class ON relname = relation AND relnamespace = current_schema()::regnamespace
       LEFT JOIN pg_attribute ON attrelid = pg_class.oid AND attname = name AND NOT attisdropped
       WHERE CASE WHEN name IS NULL THEN NOT has_table_privilege(pg_class.oid, privilege)
         ELSE attnum IS NOT NULL AND NOT has_column_privilege(pg_class.oid, attnum, privilege) END`,
    functions.length > 0 &&
      `SELECT whole FROM (VALUES ${functions.join(', ')}) AS wanted (whole, signature)
       WHERE to_regprocedure(signature) IS NOT NULL AND NOT has_function_privilege(to_regprocedure(signature), 'EXECUTE')`,
    sequences.length > 0 &&
      `SELECT whole FROM (VALUES ${sequences.join(', ')}) AS wanted (whole, sequence)
       WHERE to_regclass(sequence) IS NOT NULL AND NOT has_sequence_privilege(to_regclass(sequence), 'USAGE')`,
  ].filter((statement) => statement !== false);
  if (statements.length === 0) return [];
  const found = (await query(statements.join(' UNION ALL '))) as { whole: string }[];
  return found.map(({ whole }) => whole);
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
