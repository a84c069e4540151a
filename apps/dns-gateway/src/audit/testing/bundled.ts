import path from 'node:path';
import { buildSync } from 'esbuild';

/** Bundles a program of this directory into one file for Node, in the specs' temporary directory. */
export function bundled(source: string, folder: string): string {
  const outfile = path.join(folder, `${path.basename(source, '.ts')}.js`);
  buildSync({ entryPoints: [source], outfile, bundle: true, platform: 'node', logLevel: 'error' });
  return outfile;
}
