import { readFileSync } from 'node:fs';

/**
 * Sets DATABASE_URL and CT_DATABASE_URL from the files that DATABASE_URL_FILE and CT_DATABASE_URL_FILE name, as a Secret is
 * mounted. A variable that is set already is kept; an empty one counts as absent, as for the processes.
 *
 * @throws Error that names the variable of an unreadable file, or of a value that is no URL of PostgreSQL
 */
export function readUrlFiles(environment: NodeJS.ProcessEnv): void {
  for (const name of ['DATABASE_URL', 'CT_DATABASE_URL']) {
    if (environment[name] === '') delete environment[name];
    const file = environment[`${name}_FILE`] ?? '';
    if (file !== '') environment[name] ??= contentOf(file, name);
    const url = environment[name];
    if (url !== undefined && !(/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)))
      throw new Error(`${name} is not a URL that begins with postgres:// or postgresql://.`);
  }
}

function contentOf(file: string, name: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    throw new Error(`${name}_FILE names a file that cannot be read (${code}).`);
  }
}
