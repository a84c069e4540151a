// Bundles one TypeScript tool (tools/<name>/main.ts) and runs it in the same terminal: `node tools/run.mjs admin -- --help`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { bundle, workspaceRoot } from './build/bundle.mjs';

const [name, ...rest] = process.argv.slice(2);
const args = rest[0] === '--' ? rest.slice(1) : rest;
const source = `tools/${name}/main.ts`;
if (!existsSync(path.join(workspaceRoot, source))) {
  console.error(`There is no tool "${name}" (${source}).`);
  process.exit(2);
}
await bundle({ main: source }, `dist/tools/${name}`);
const bundled = path.join(workspaceRoot, 'dist/tools', name, 'main.js');
const { status, signal } = spawnSync(process.execPath, ['--enable-source-maps', bundled, ...args], {
  stdio: 'inherit',
});
process.exit(signal ? 1 : (status ?? 1));
