import { createRequire } from 'node:module';
import path from 'node:path';
import type { Metafile } from 'esbuild';

const workspaceRoot = path.join(__dirname, '../../..');
const require = createRequire(path.join(workspaceRoot, 'package.json'));
const builtIn = 'apps/issuance-worker/src/certificate-authorities/built-in';

interface Bundling {
  bundleOptions(entryPoints: Record<string, string>, outdir: string): object;
}

it('the program of the worker has no code that reads or uses a root key', async () => {
  const { bundleOptions } = (await import(path.join(workspaceRoot, 'tools/build/bundle.mjs'))) as Bundling;
  const { build } = require('esbuild') as typeof import('esbuild');
  const options = bundleOptions({ main: 'apps/issuance-worker/src/main.ts' }, 'dist/apps/issuance-worker');
  const built = await build({ ...options, write: false, metafile: true, logLevel: 'silent' });
  const { inputs }: Metafile = built.metafile;
  const sources = Object.keys(inputs);
  expect(sources).toContain(`${builtIn}/keys/key-files.ts`);
  expect(sources.filter((file) => file.startsWith(`${builtIn}/ceremony/`))).toEqual([]);
  const program = built.outputFiles?.map(({ text }) => text).join('') ?? '';
  for (const onlyInCeremony of ['signRootList', 'signIntermediate', 'createRoot', 'createSandboxCa'])
    expect(program).not.toContain(onlyInCeremony);
}, 240_000);
