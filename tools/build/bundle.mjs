// Bundles one entry point: our own sources in one CommonJS file, npm packages excluded.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { lowestNodeCheck } from './lowest-node.mjs';

const require = createRequire(import.meta.url);
export const workspaceRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** esbuild drops decorator metadata, which NestJS and TypeORM need; swc emits it. */
const decoratorMetadata = {
  name: 'decorator-metadata',
  setup(build) {
    const swc = require('@swc/core');
    const { ts } = require('./swc-options.cjs');
    build.onLoad({ filter: /\.ts$/ }, async ({ path: filename }) => {
      const source = await readFile(filename, 'utf8');
      const { code, map } = await swc.transform(source, { ...ts, filename, module: { type: 'es6' } });
      const inline = `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`;
      return { contents: code + inline, loader: 'js' };
    });
  },
};

/**
 * One bundle per entry point: main.ts, and openapi.ts where an app has one.
 * @param {string} projectRoot such as apps/orders-v3
 * @returns {Record<string, string>}
 */
export function entryPointsOf(projectRoot) {
  const sources = ['main', 'openapi'].map((name) => [name, `${projectRoot}/src/${name}.ts`]);
  return Object.fromEntries(sources.filter(([, source]) => existsSync(path.join(workspaceRoot, source))));
}

/**
 * @param {Record<string, string>} entryPoints output name without ending → source file, from the workspace root
 * @param {string} outdir from the workspace root, or absolute
 */
export function bundleOptions(entryPoints, outdir) {
  return {
    absWorkingDir: workspaceRoot,
    entryPoints,
    outdir,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    // Syntax that an older Node.js parses, so that it can run the check of its version.
    target: 'node18',
    banner: { js: lowestNodeCheck(path.basename(outdir)) },
    packages: 'external',
    // Data lists that are part of the program.
    loader: { '.txt': 'text' },
    // Workspace aliases look like packages but must be bundled.
    plugins: [workspaceAliases(), decoratorMetadata],
    sourcemap: true,
    logLevel: 'warning',
  };
}

function workspaceAliases() {
  return {
    name: 'workspace-aliases',
    setup(build) {
      build.onResolve({ filter: /^@certwright\// }, ({ path: name }) => ({
        path: path.join(workspaceRoot, 'libs', name.slice('@certwright/'.length), 'src/index.ts'),
      }));
    },
  };
}

/**
 * Bundles what has changed since the last time.
 * @param {Record<string, string>} entryPoints output name without ending → source file, from the workspace root
 * @param {string} outdir from the workspace root, or absolute
 */
export async function bundle(entryPoints, outdir) {
  const changed = Object.entries(entryPoints).filter(([name, source]) => !isCurrent(outdir, name, source));
  if (changed.length === 0) return;
  const begunMs = Date.now();
  const options = { ...bundleOptions(Object.fromEntries(changed), outdir), metafile: true };
  const { metafile } = await require('esbuild').build(options);
  const outputs = Object.values(metafile.outputs);
  for (const [name, source] of changed) {
    const inputs = Object.keys(outputs.find(({ entryPoint }) => entryPoint === source)?.inputs ?? {});
    const files = [...inputs, ...builders, `${outdir}/${name}.js`].map((file) => [file, stampOf(file)]);
    // A source that changed during the build may be in the bundle as it was before.
    const isCertain = inputs.every((file) => statSync(path.resolve(workspaceRoot, file)).mtimeMs < begunMs);
    if (isCertain) await writeFile(inputsFile(outdir, name), JSON.stringify({ source, files }));
  }
}

/** Files besides its sources that decide what a bundle is; the lock file has the versions of the compilers. */
const builders = [
  'tools/build/bundle.mjs',
  'tools/build/lowest-node.mjs',
  'tools/build/swc-options.cjs',
  'package-lock.json',
];

const inputsFile = (outdir, name) => path.resolve(workspaceRoot, outdir, `${name}.inputs.json`);

function stampOf(file) {
  const { mtimeMs, size } = statSync(path.resolve(workspaceRoot, file));
  return `${mtimeMs} ${size}`;
}

function isCurrent(outdir, name, source) {
  try {
    const made = JSON.parse(readFileSync(inputsFile(outdir, name), 'utf8'));
    return made.source === source && made.files.every(([file, stamp]) => stampOf(file) === stamp);
  } catch {
    return false;
  }
}
