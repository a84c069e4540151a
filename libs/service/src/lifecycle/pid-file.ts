import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes this process's id.
 *
 * @returns removes the file, unless a later process has written its own id meanwhile; works while the process exits
 */
export function writePidFile(file: string): () => void {
  const id = `${process.pid}\n`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, id);
  return () => {
    try {
      if (readFileSync(file, 'utf8') === id) rmSync(file);
    } catch {
      // Somebody removed it already, which is what was to be done.
    }
  };
}
