// @ts-check
// The servers of Debian that `npm run ha` starts beside the platform.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { identityFor } from '../embedded/unprivileged.mjs';
import { launch } from '../embedded/child.mjs';
import { programPath } from '../peers/programs.mjs';

/** Package of each program. */
const PACKAGES = {
  etcd: 'etcd-server',
  patroni: 'patroni',
  haproxy: 'haproxy',
  pgbouncer: 'pgbouncer',
  'redis-server': 'redis-server',
  'redis-cli': 'redis-tools',
};
const POSTGRES_VERSIONS = '/usr/lib/postgresql';

/** @typedef {keyof typeof PACKAGES | 'patronictl'} Program */

/** @throws {Error} with the command that installs what is missing */
export function requirePrograms() {
  const missing = Object.entries(PACKAGES).filter(([program]) => programPath(program) === null);
  const packages = missing.map(([, name]) => name);
  if (postgresPrograms() === undefined) packages.push('postgresql');
  if (packages.length > 0)
    throw new Error(
      `npm run ha needs Debian packages that are not installed. Run: apt-get install -y --no-install-recommends ${packages.join(' ')}`,
    );
}

/** @param {Program} name */
export function program(name) {
  const file = programPath(name);
  if (file === null) throw new Error(`${name} is not installed`);
  return file;
}

/** The folder with initdb and pg_rewind of the newest PostgreSQL, which Patroni runs. */
export function postgresPrograms() {
  try {
    const [newest] = readdirSync(POSTGRES_VERSIONS).sort((one, other) => Number(other) - Number(one));
    return newest === undefined ? undefined : path.join(POSTGRES_VERSIONS, newest, 'bin');
  } catch {
    return undefined;
  }
}

/**
 * Starts a server as an unprivileged user, who owns its folder.
 * @param {{ folder: string, name: string, command: string, args: readonly string[], env?: NodeJS.ProcessEnv }} what
 */
export async function launchServer({ folder, name, command, args, env = {} }) {
  const { prefix, uid, gid } = identityFor(folder);
  const [first = command, ...rest] = [...prefix, command, ...args];
  return await launch({
    ...{ command: first, args: rest, cwd: folder, uid, gid },
    env: { ...process.env, LC_ALL: 'C.UTF-8', ...env },
    logFile: path.join(folder, `${name}.log`),
  });
}
