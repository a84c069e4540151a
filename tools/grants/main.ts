import 'reflect-metadata';
import { ctDataSource, ctSchema } from '@certwright/ct-schema';
import { ensurePartitions } from '@certwright/ct-index';
import { coreDataSource, coreSchema } from '@certwright/core-schema';
import { applyGrants, type GrantedSchema, type RoleGrants, roleOf } from '@certwright/postgres';
import type { DataSource } from 'typeorm';
import { checkRole } from './check-role';
import { type LoggedRole, readLog } from './logged-statements';
import { createProbe, Probe } from './probe';
import { partitionNames, probedStatements, temporaryTables } from './probed-statements';

const usage = `Compares the grants of each role with the statements that the role ran, by the log of a test run.

  node tools/run.mjs grants LOG PREFIX [PROCESS …]

LOG           log of a PostgreSQL with log_statement = all for the roles, and the prefix of tools/embedded
PREFIX        of the roles in that log
PROCESS       processes whose specs have all run: each of their grants must be needed by a statement
DATABASE_URL  an empty database on a temporary server

Prints JSON: checked, those of the processes that have a role, and faults, a line each: what a role was refused, and
its grants that no statement needs.
`;

const statementTimeoutMs = 600_000;
const prefix = 'probe_';

/** Printed faults per role, and characters of each. */
const maxFaults = 25;
const maxFaultLength = 250;

async function main([log, logged, ...complete]: readonly string[]): Promise<number> {
  const url = process.env['DATABASE_URL'];
  if (log === undefined || logged === undefined || url === undefined) {
    console.error(usage);
    return 2;
  }
  const roles = await readLog(log);
  const databases = await openDatabases(url);
  const processes = new Set([...Object.keys(coreSchema.roles), ...Object.keys(ctSchema.roles)]);
  const faults: string[] = [];
  const left = [...processes];
  const probeNext = async ({ database, probe, renamed }: Probing) => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const role = roles.get(roleOf(logged, name));
      if (role === undefined && !complete.includes(name)) continue;
      const grants = complete.includes(name) ? grantsOf(name) : null;
      const found = await faultsOf(role, grants, { probe, renamed });
      const [app, rest] = [name, found.length - maxFaults];
      faults.push(...found.slice(0, maxFaults).map((fault) => `${app}: ${fault.slice(0, maxFaultLength)}`));
      if (rest > 0) faults.push(`${app}: ${rest} more`);
    }
    await database.destroy();
  };
  await Promise.all(databases.map(probeNext));
  console.log(JSON.stringify({ checked: complete.filter((name) => processes.has(name)), faults }));
  return 0;
}

interface Probing {
  readonly database: DataSource;
  readonly probe: Probe;
  readonly renamed: (statement: string) => string;
}

/** @param grants of the role, when all specs of its process have run; null: finds only refused statements */
async function faultsOf(
  { statements, refused }: LoggedRole = { statements: new Set(), refused: new Set() },
  grants: { readonly role: string; readonly declared: RoleGrants } | null,
  { probe, renamed }: Omit<Probing, 'database'>,
): Promise<readonly string[]> {
  const refusals = [...refused].map((refusal) => `is refused what its code does: ${refusal}`);
  if (grants === null) return refusals;
  const probed = probedStatements(statements, renamed);
  return [...refusals, ...(await checkRole(probe, grants.role, grants.declared, probed))];
}

/** A process may use both databases; no name is in both. */
function grantsOf(name: string): { readonly role: string; readonly declared: RoleGrants } {
  const grants = [coreSchema, ctSchema].flatMap(({ roles }) => roles[name] ?? []);
  const declared: RoleGrants = {
    tables: Object.fromEntries(grants.flatMap(({ tables }) => Object.entries(tables))),
    functions: grants.flatMap(({ functions = [] }) => functions),
    sequences: grants.flatMap(({ sequences = [] }) => sequences),
    ...(grants.some(({ temporaryTables }) => temporaryTables) && { temporaryTables: true }),
  };
  return { role: roleOf(prefix, name), declared };
}

/** Both schemas with their grants in one database, and a copy of it: each is probed by one core. */
async function openDatabases(url: string): Promise<readonly Probing[]> {
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
  await createProbe(database);
  const [{ name }] = await database.query<[{ name: string }]>(`SELECT current_database() AS name`);
  await database.destroy();
  const [original, copy] = [new URL(url), new URL(url)];
  copy.pathname = `/${name}_copy`;
  original.pathname = '/template1';
  const administrator = await ctDataSource({ ...settings, url: original.href }).initialize();
  await administrator.query(`CREATE DATABASE "${name}_copy" TEMPLATE "${name}"`);
  await administrator.destroy();
  return await Promise.all(
    [url, copy.href].map(async (each) => {
      const opened = await ctDataSource({ ...settings, url: each }).initialize();
      return { database: opened, probe: new Probe(opened), renamed: await partitionNames(opened) };
    }),
  );
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(2);
  },
);
