import { spawnSync } from 'node:child_process';
import path from 'node:path';

/**
 * `npm run audit -- verify <file…>`: bundles the gateway's verification and runs it in the same terminal. It is the
 * gateway's own code, because reader and writer of the log must agree on every byte.
 */
const workspaceRoot = path.resolve(__dirname, '../../..');

/** Paths are relative to the user's folder; npm changes the working directory. */
const from = process.env['INIT_CWD'] ?? process.cwd();

function run(cwd: string, ...args: string[]): number {
  const { status } = spawnSync(process.execPath, args, { cwd, stdio: 'inherit' });
  return status ?? 1;
}

const bundled = run(workspaceRoot, 'tools/audit/bundle-verify.mjs');
process.exitCode =
  bundled === 0
    ? run(from, path.join(workspaceRoot, 'dist/tools/audit/verify.js'), ...process.argv.slice(2))
    : 2;
