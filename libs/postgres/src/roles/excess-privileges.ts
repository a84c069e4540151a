import type { Transaction } from './apply-grants';
import { type GrantedSchema, privilegesOf } from './role-grants';

export interface ExcessPrivileges {
  /** The user of the connection. */
  readonly role: string;
  /** Each as it is written between GRANT and TO. */
  readonly privileges: readonly string[];
}

/** Privileges of the connection's user beyond the grants of a process: by ownership, as a superuser, or by a grant. */
export async function excessPrivileges(
  database: Transaction,
  { relations, roles }: GrantedSchema,
  process: string,
): Promise<ExcessPrivileges> {
  const declared = new Set(privilegesOf(roles[process] ?? { tables: {} }));
  const held = await database.query<{ role: string; privilege: string; whole: string }[]>(
    `WITH relation AS (
       SELECT oid, relname AS name FROM pg_class
       WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname ~ $1)
     SELECT current_user AS role, format('%s ON %s', privilege, name) AS privilege, '' AS whole
     FROM relation, unnest(ARRAY['DELETE', 'TRUNCATE']) AS privilege WHERE has_table_privilege(oid, privilege)
     UNION ALL
     SELECT current_user, format('%s (%s) ON %s', privilege, attname, name), format('%s ON %s', privilege, name)
     FROM relation JOIN pg_attribute ON attrelid = oid AND attnum > 0 AND NOT attisdropped,
       unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) AS privilege
     WHERE has_column_privilege(oid, attnum, privilege)
     ORDER BY 2`,
    [relations.source],
  );
  const excess = held.filter(({ privilege, whole }) => !declared.has(privilege) && !declared.has(whole));
  return { role: held[0]?.role ?? '', privileges: excess.map(({ privilege }) => privilege) };
}

/** Logs a warning at start: a process that connects as the owner of the tables works, but is not confined. */
export async function warnOfExcessPrivileges(
  database: Transaction,
  schema: GrantedSchema,
  process: string,
  log: { warn(fields: object, message: string): void },
): Promise<void> {
  const { role, privileges } = await excessPrivileges(database, schema, process);
  if (privileges.length === 0) return;
  log.warn(
    { database: schema.name, role, privileges: privileges.length, for_example: privileges.slice(0, 3) },
    'database role has privileges that this process does not need',
  );
}
