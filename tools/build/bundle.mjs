// Bundles one entry point: our own sources in one CommonJS file, npm packages excluded.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
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
 * @param {string} outdir from the workspace root
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

export async function bundle(entryPoints, outdir) {
  const esbuild = require('esbuild');
  await esbuild.build(bundleOptions(entryPoints, outdir));
}
