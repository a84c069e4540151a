import path from 'node:path';
import { buildSync } from 'esbuild';

/** A program of this folder as one file that Node runs, beside the specs' other temporary files. */
export function bundled(source: string, folder: string): string {
  const outfile = path.join(folder, `${path.basename(source, '.ts')}.js`);
  buildSync({ entryPoints: [source], outfile, bundle: true, platform: 'node', logLevel: 'error' });
  return outfile;
}
