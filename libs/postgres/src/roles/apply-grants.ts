import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { alterRole } from '../session-settings';
import { type GrantedSchema, privilegesOf, roleOf } from './role-grants';

/** A transaction, as TypeORM's EntityManager is one. */
export interface Transaction {
  query<Rows>(text: string, values?: unknown[]): Promise<Rows>;
}

export interface RoleSettings {
  /** Prefix of every role name: roles belong to the server, which may serve several deployments. */
  readonly prefix: string;
  /**
   * By process. A role without one keeps its password; a new role has none, and can log in by certificate or peer
   * only.
   */
  readonly passwords: Readonly<Record<string, string>>;
}

export interface AppliedGrants {
  readonly created: readonly string[];
  /** Missing roles that the current user may not create. */
  readonly absent: readonly string[];
  readonly granted: number;
  readonly revoked: number;
  /** Settings of roles that were set. Those that a role has already are kept: an operator may have changed them. */
  readonly set: number;
  /** Statements that the current user may not execute, with settings that roles lack. */
  readonly refused: readonly string[];
}

/** One lock for all changes of grants: concurrent ones fail on the same rows of the catalog. */
const grantsLock = 7_308_604_105;

/**
 * Gives the roles of a schema exactly the declared grants. Writes only differences, so it is idempotent. Call it as
 * the owner of the tables, in one transaction, so that running processes never lack a grant that they still need.
 */
export async function applyGrants(
  tx: Transaction,
  schema: GrantedSchema,
  { prefix, passwords }: RoleSettings,
): Promise<AppliedGrants> {
  await tx.query(`SELECT pg_advisory_xact_lock($1)`, [grantsLock]);
  await replaceDefiners(tx, schema);
  const processes = Object.keys(schema.roles);
  const { created, absent } = await createRoles(
    tx,
    processes.map((process) => roleOf(prefix, process)),
  );
  const present = processes.filter((process) => !absent.includes(roleOf(prefix, process)));
  for (const process of present) await setPassword(tx, roleOf(prefix, process), passwords[process]);

  const partitions = await partitionsOf(tx, schema);
  const changes: string[] = [];
  for (const process of present) {
    const role = roleOf(prefix, process);
    const grants = schema.roles[process] ?? { tables: {} };
    const wanted = new Set(privilegesOf(grants, (table) => [table, ...(partitions.get(table) ?? [])]));
    const held = new Set(await heldBy(tx, role, schema));
    for (const privilege of held)
      if (!wanted.has(privilege)) changes.push(`REVOKE ${privilege} FROM "${role}"`);
    for (const privilege of wanted) if (!held.has(privilege)) changes.push(`GRANT ${privilege} TO "${role}"`);
  }
  changes.push(...(await functionsOfPublic(tx, schema)));
  changes.push(...(await databaseChanges(tx, schema, present, prefix)));
  for (const change of changes) await tx.query(change);
  const granted = changes.filter((change) => change.startsWith('GRANT')).length;
  const settings = await applySettings(tx, schema, present, prefix);
  return { created, absent, granted, revoked: changes.length - granted, ...settings };
}

async function applySettings(
  tx: Transaction,
  { roles }: GrantedSchema,
  processes: readonly string[],
  prefix: string,
): Promise<Pick<AppliedGrants, 'set' | 'refused'>> {
  const held = await tx.query<{ role: string; name: string }[]>(
    `SELECT rolname AS role, split_part(setting, '=', 1) AS name
     FROM pg_db_role_setting JOIN pg_roles ON pg_roles.oid = setrole, unnest(setconfig) AS setting
     WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  const [{ database }] = await tx.query<[{ database: string }]>(`SELECT current_database() AS database`);
  const statements = processes.flatMap((process) => {
    const role = roleOf(prefix, process);
    return Object.entries(roles[process]?.session ?? {})
      .filter(([name]) => !held.some((each) => each.role === role && each.name === name))
      .map(([name, value]) => alterRole(role, database, name, value));
  });
  const refused: string[] = [];
  for (const statement of statements) if (!(await isAllowed(tx, statement))) refused.push(statement);
  return { set: statements.length - refused.length, refused };
}

/** Executes the statement unless the current user lacks a privilege. */
async function isAllowed(tx: Transaction, statement: string): Promise<boolean> {
  await tx.query('SAVEPOINT allowed');
  try {
    await tx.query(statement);
    await tx.query('RELEASE SAVEPOINT allowed');
    return true;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== insufficientPrivilege) throw error;
    await tx.query('ROLLBACK TO SAVEPOINT allowed');
    return false;
  }
}

/** PostgreSQL, appendix A. */
const insufficientPrivilege = '42501';

/** Temporary tables come last in the search path, so that a caller cannot replace a table by one. */
async function replaceDefiners(tx: Transaction, { definers }: GrantedSchema): Promise<void> {
  const [{ schema }] = await tx.query<[{ schema: string }]>(`SELECT quote_ident(current_schema()) AS schema`);
  for (const { definition } of definers)
    await tx.query(definition(`SECURITY DEFINER SET search_path = ${schema}, pg_temp`));
}

async function createRoles(
  tx: Transaction,
  roles: readonly string[],
): Promise<Pick<AppliedGrants, 'created' | 'absent'>> {
  const found = await tx.query<{ name: string }[]>(
    `SELECT rolname AS name FROM pg_roles WHERE rolname = ANY ($1::text[])`,
    [roles],
  );
  const missing = roles.filter((role) => !found.some(({ name }) => name === role));
  const [{ may }] = await tx.query<[{ may: boolean }]>(
    `SELECT rolsuper OR rolcreaterole AS may FROM pg_roles WHERE rolname = current_user`,
  );
  if (!may) return { created: [], absent: missing };
  for (const role of missing) await tx.query(`CREATE ROLE "${role}" LOGIN`);
  return { created: missing, absent: [] };
}

/** Sets a verifier: the password itself never reaches the server or its log. */
async function setPassword(tx: Transaction, role: string, password: string | undefined): Promise<void> {
  if (password !== undefined) await tx.query(`ALTER ROLE "${role}" PASSWORD '${scramVerifier(password)}'`);
}

async function partitionsOf(
  tx: Transaction,
  { relations }: GrantedSchema,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await tx.query<{ parent: string; names: string[] }[]>(
    `SELECT parent.relname AS parent, array_agg(child.relname::text) AS names
     FROM pg_inherits JOIN pg_class AS parent ON parent.oid = inhparent JOIN pg_class AS child ON child.oid = inhrelid
     WHERE parent.relkind = 'p' AND parent.relnamespace = current_schema()::regnamespace AND parent.relname ~ $1
     GROUP BY parent.relname`,
    [relations.source],
  );
  return new Map(rows.map(({ parent, names }) => [parent, names]));
}

/**
 * The privileges granted to the role itself in the schema, as in GRANT; our names need no quotes. In older versions of
 * PostgreSQL a dropped column keeps its privileges.
 */
async function heldBy(tx: Transaction, role: string, { relations }: GrantedSchema): Promise<string[]> {
  const rows = await tx.query<{ privilege: string }[]>(
    `WITH relation AS (
       SELECT oid, relname, relkind, relacl FROM pg_class
       WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S') AND relname ~ $2)
     SELECT format('%s ON %s%s', privilege_type, CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE '' END, relname) AS privilege
     FROM relation, aclexplode(relacl) WHERE grantee = $1::regrole
     UNION ALL
     SELECT format('%s (%s) ON %s', privilege_type, attname, relname)
     FROM relation JOIN pg_attribute ON attrelid = relation.oid, aclexplode(attacl)
     WHERE grantee = $1::regrole AND NOT attisdropped
     UNION ALL
     SELECT format('EXECUTE ON FUNCTION %s', pg_proc.oid::regprocedure)
     FROM pg_proc, aclexplode(proacl)
     WHERE pronamespace = current_schema()::regnamespace AND proname ~ $2 AND grantee = $1::regrole`,
    [`"${role}"`, relations.source],
  );
  return rows.map(({ privilege }) => privilege);
}

/** PUBLIC may execute a new function by default. */
async function functionsOfPublic(tx: Transaction, { functions }: GrantedSchema): Promise<string[]> {
  const rows = await tx.query<{ signature: string }[]>(
    `SELECT pg_proc.oid::regprocedure::text AS signature
     FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
     WHERE pg_proc.oid = ANY ($1::regprocedure[]) AND grantee = 0`,
    [functions],
  );
  return rows.map(({ signature }) => `REVOKE EXECUTE ON FUNCTION ${signature} FROM PUBLIC`);
}

/**
 * Only the roles may connect, create temporary tables, or create anything in the schema. Users with a grant on a table, from
 * another user, keep the first two rights. Only the owner of the database can revoke them: for other users this does nothing.
 */
async function databaseChanges(
  tx: Transaction,
  { roles }: GrantedSchema,
  processes: readonly string[],
  prefix: string,
): Promise<string[]> {
  const [{ database, schema, is_owner: isOwner }] = await tx.query<
    [{ database: string; schema: string; is_owner: boolean }]
  >(
    `SELECT quote_ident(datname) AS database, quote_ident(current_schema()) AS schema,
       pg_has_role(datdba, 'USAGE') AND (SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = current_schema()) AS is_owner
     FROM pg_database WHERE datname = current_database()`,
  );
  if (!isOwner) return [];
  const held = await tx.query<{ holder: string | null; privilege: string }[]>(
    `SELECT rolname AS holder, privilege_type || ' ON DATABASE' AS privilege
     FROM pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba))) LEFT JOIN pg_roles ON pg_roles.oid = grantee
     WHERE datname = current_database()
     UNION ALL
     SELECT rolname, privilege_type || ' ON SCHEMA'
     FROM pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) LEFT JOIN pg_roles ON pg_roles.oid = grantee
     WHERE nspname = current_schema()`,
  );
  const holds = (holder: string | null, privilege: string) =>
    held.some((each) => each.holder === holder && each.privilege === privilege);
  const named = (privilege: string) => `${privilege} ${privilege.endsWith('SCHEMA') ? schema : database}`;
  const ofPublic = ['CREATE ON SCHEMA', 'CONNECT ON DATABASE', 'TEMPORARY ON DATABASE'];
  const revoked = ofPublic.filter((privilege) => holds(null, privilege));
  const granted = processes.flatMap((process) => {
    const role = roleOf(prefix, process);
    const wanted = ['USAGE ON SCHEMA', 'CONNECT ON DATABASE'];
    if (roles[process]?.temporaryTables) wanted.push('TEMPORARY ON DATABASE');
    return wanted
      .filter((privilege) => !holds(role, privilege))
      .map((privilege) => `GRANT ${named(privilege)} TO "${role}"`);
  });
  const kept =
    revoked.length === 0
      ? []
      : (
          await othersWithTables(
            tx,
            processes.map((process) => roleOf(prefix, process)),
          )
        ).map((role) => `GRANT CONNECT, TEMPORARY ON DATABASE ${database} TO ${role}`);
  return [...granted, ...kept, ...revoked.map((privilege) => `REVOKE ${named(privilege)} FROM PUBLIC`)];
}

/** Quoted. */
async function othersWithTables(tx: Transaction, own: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ role: string }[]>(
    `SELECT DISTINCT quote_ident(rolname) AS role
     FROM pg_class CROSS JOIN aclexplode(relacl) JOIN pg_roles ON pg_roles.oid = grantee
     WHERE relnamespace = current_schema()::regnamespace AND grantee <> relowner AND rolname <> ALL ($1::text[])`,
    [own],
  );
  return rows.map(({ role }) => role);
}

/** As PostgreSQL's `scram_iterations`. */
const iterations = 4_096;

/**
 * The verifier that PostgreSQL stores for a password (RFC 5802 with SHA-256), in the form that `PASSWORD '…'`
 * accepts.
 *
 * @param password printable ASCII, so that SASLprep would not change it
 */
function scramVerifier(password: string): string {
  if (!/^[\x20-\x7e]+$/.test(password)) throw new TypeError('A password of a role is printable ASCII.');
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${keyed('Server Key').toString('base64')}`;
}
