import 'reflect-metadata';
import { ctDataSource, ctSchema, ensurePartitions } from '@certwright/ct-persistence';
import { coreDataSource, coreSchema } from '@certwright/persistence';
import { applyGrants, type GrantedSchema, type RoleGrants, roleOf } from '@certwright/postgres';
import type { DataSource } from 'typeorm';
import { checkRole } from './check-role';
import { type LoggedRole, readLog } from './logged-statements';
import { openProbe, type Probe } from './probe';
import { partitionNames, probedStatements, temporaryTables } from './probed-statements';

const usage = `Compares the grants of each role with the statements that the role ran, by the log of a test run.

  node tools/run.mjs grants LOG PREFIX [PROCESS …]

LOG           log of a PostgreSQL with log_statement = all for the roles, and the prefix of tools/embedded
PREFIX        of the roles in that log
PROCESS       processes whose specs have all run: each of their grants must be needed by a statement
DATABASE_URL  an empty database on a server that is thrown away

Exits 1 when a role lacked a privilege, or has one that no statement needs.
`;

const statementTimeoutMs = 600_000;
const prefix = 'probe_';

async function main([log, logged, ...complete]: readonly string[]): Promise<number> {
  const url = process.env['DATABASE_URL'];
  if (log === undefined || logged === undefined || url === undefined) {
    console.error(usage);
    return 2;
  }
  const roles = await readLog(log);
  const { database, probe, renamed } = await openDatabase(url);
  const processes = new Set([...Object.keys(coreSchema.roles), ...Object.keys(ctSchema.roles)]);
  let faults = 0;
  for (const name of processes) {
    const role = roles.get(roleOf(logged, name));
    if (role === undefined && !complete.includes(name)) continue;
    const found = await faultsOf(name, role, complete.includes(name), { probe, renamed });
    for (const fault of found) console.log(`${name}: ${fault}`);
    faults += found.length;
  }
  await database.destroy();
  return faults === 0 ? 0 : 1;
}

interface Probing {
  readonly probe: Probe;
  readonly renamed: (statement: string) => string;
}

async function faultsOf(
  name: string,
  { statements: logged, refused }: LoggedRole = { statements: new Set(), refused: new Set() },
  isComplete: boolean,
  { probe, renamed }: Probing,
): Promise<readonly string[]> {
  const probed = probedStatements(logged, renamed);
  const refusals = [...refused].map((refusal) => `is refused what its code does: ${refusal}`);
  if (!isComplete) return refusals;
  const grants = [coreSchema, ctSchema].flatMap(({ roles }) => roles[name] ?? []);
  return [...refusals, ...(await checkRole(probe, roleOf(prefix, name), merged(grants), probed))];
}

/** A process may use both databases; no name is in both. */
const merged = (grants: readonly RoleGrants[]): RoleGrants => ({
  tables: Object.assign({}, ...grants.map(({ tables }) => tables)) as RoleGrants['tables'],
  functions: grants.flatMap(({ functions = [] }) => functions),
  sequences: grants.flatMap(({ sequences = [] }) => sequences),
  ...(grants.some(({ temporaryTables }) => temporaryTables) && { temporaryTables: true }),
});

/** Both schemas with their grants in one database. */
async function openDatabase(url: string): Promise<Probing & { readonly database: DataSource }> {
  const settings = { url, applicationName: 'certwright-grants', poolSize: 1, statementTimeoutMs };
  const core = await coreDataSource(settings).initialize();
  await core.runMigrations({ transaction: 'each' });
  await core.destroy();
  const database = await ctDataSource(settings).initialize();
  await database.runMigrations({ transaction: 'each' });
  await ensurePartitions(database, new Date(), 1, 1);
  await database.transaction(async (tx) => {
    const schemas: readonly GrantedSchema[] = [coreSchema, ctSchema];
    for (const schema of schemas) await applyGrants(tx, schema, { prefix, passwords: {} });
  });
  for (const statement of temporaryTables) await database.query(statement);
  return { database, probe: await openProbe(database), renamed: await partitionNames(database) };
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(2);
  },
);
