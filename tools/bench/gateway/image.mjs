// Content of the gateway's image besides Node: its bundle, and every package that the bundle needs.
import { createRequire } from 'node:module';
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { bundleOptions, workspaceRoot } from '../../build/bundle.mjs';

/** @returns {Promise<{ bundleBytes: number, packages: string[], packageBytes: number }>} */
export async function imageContent() {
  const esbuild = createRequire(import.meta.url)('esbuild');
  const options = bundleOptions({ main: 'apps/dns-gateway/src/main.ts' }, 'dist/apps/dns-gateway');
  const { metafile } = await esbuild.build({ ...options, metafile: true });
  const output = 'dist/apps/dns-gateway/main.js';
  const imports = metafile.outputs[output].imports
    .filter(({ external }) => external)
    .map(({ path: name }) => name);
  const packages = closure(imports.filter((name) => !name.startsWith('node:')).map(packageOf));
  const folder = (name) => path.join(workspaceRoot, 'node_modules', name);
  const packageBytes = packages.reduce((sum, name) => sum + bytesOf(folder(name)), 0);
  return { bundleBytes: statSync(path.join(workspaceRoot, output)).size, packages, packageBytes };
}

/** `@scope/name/deep` → `@scope/name` */
function packageOf(specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** The packages and their dependencies by the lock file, without optional peers. */
function closure(names) {
  const { packages } = JSON.parse(readFileSync(path.join(workspaceRoot, 'package-lock.json'), 'utf8'));
  const seen = new Set();
  const visit = (name) => {
    const found = packages[`node_modules/${name}`];
    if (found === undefined || seen.has(name)) return;
    seen.add(name);
    for (const dependency of Object.keys(found.dependencies ?? {})) visit(dependency);
  };
  for (const name of names) visit(name);
  return [...seen].sort();
}

function bytesOf(place) {
  const found = lstatSync(place);
  if (!found.isDirectory()) return found.size;
  return readdirSync(place).reduce((sum, name) => sum + bytesOf(path.join(place, name)), 0);
}
