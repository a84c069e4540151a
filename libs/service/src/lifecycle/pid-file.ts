import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileFault, SettingsError } from '../config/settings';

/**
 * Writes this process's id.
 *
 * @throws SettingsError when it cannot be written
 * @returns removes the file, unless a later process has written its own id meanwhile; works while the process exits
 */
export function writePidFile(file: string): () => void {
  const id = `${process.pid}\n`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, id);
  } catch (error) {
    throw new SettingsError([{ name: 'PID_FILE', fault: `cannot be written: ${fileFault(error)}` }]);
  }
  return () => {
    try {
      if (readFileSync(file, 'utf8') === id) rmSync(file);
    } catch {
      // Somebody removed it already, which is what was to be done.
    }
  };
}
