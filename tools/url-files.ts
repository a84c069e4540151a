import { readFileSync } from 'node:fs';

/**
 * Sets DATABASE_URL and CT_DATABASE_URL from the files that DATABASE_URL_FILE and CT_DATABASE_URL_FILE name, as a Secret is
 * mounted. A variable that is set already is kept; an empty one counts as absent, as for the processes.
 *
 * @throws Error that names the variable of an unreadable file
 */
export function readUrlFiles(environment: NodeJS.ProcessEnv): void {
  for (const name of ['DATABASE_URL', 'CT_DATABASE_URL']) {
    if (environment[name] === '') delete environment[name];
    const file = environment[`${name}_FILE`] ?? '';
    if (file === '' || environment[name] !== undefined) continue;
    try {
      environment[name] = readFileSync(file, 'utf8').trim();
    } catch (error) {
      const { code = 'unreadable' } = error as NodeJS.ErrnoException;
      throw new Error(`${name}_FILE names a file that cannot be read (${code}).`);
    }
  }
}
