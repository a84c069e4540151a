import { existsSync } from 'node:fs';
import path from 'node:path';

const folders = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/opt/pebble-new/usr/bin'];

/** The programs that are not installed. */
export function missingPrograms(programs: readonly string[]): readonly string[] {
  return programs.filter((program) => !folders.some((folder) => existsSync(path.join(folder, program))));
}
