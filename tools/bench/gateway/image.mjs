// Content of the gateway's image besides Node: its bundle with all packages.
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { bundle, workspaceRoot } from '../../build/bundle.mjs';

/** @returns {Promise<{ bundleBytes: number, packages: string[] }>} */
export async function imageContent() {
  const folder = 'dist/apps/dns-gateway';
  await bundle({ main: 'apps/dns-gateway/src/main.ts' }, folder);
  const place = path.join(workspaceRoot, folder);
  const packages = JSON.parse(readFileSync(path.join(place, 'main.packages.json'), 'utf8'));
  return { bundleBytes: statSync(path.join(place, 'main.js')).size, packages };
}
