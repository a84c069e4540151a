// `npm run audit -- verify <file…>`: bundles the gateway's verification and runs it in the same terminal. It is the
// gateway's own code, because reader and writer of the log must agree on every byte.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { bundle, workspaceRoot } from '../build/bundle.mjs';

/** 1 means that the log is invalid. */
const failed = 2;

await bundle({ main: 'tools/audit/main.ts' }, 'dist/tools/audit').catch((error) => {
  console.error(error.message);
  process.exit(failed);
});
const program = path.join(workspaceRoot, 'dist/tools/audit/main.js');
// Paths are relative to the user's folder; npm changes the working directory.
const how = { cwd: process.env.INIT_CWD, stdio: 'inherit' };
process.exitCode = spawnSync(process.execPath, [program, ...process.argv.slice(2)], how).status ?? failed;
