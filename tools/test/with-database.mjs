// Runs a command with DATABASE_URL set to an empty PostgreSQL that is deleted afterwards:
// `node tools/test/with-database.mjs npm run migrate -- --check-drift`. Exits as the command does.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { startPostgres } from '../embedded/postgres.mjs';
import { stopRequest } from '../up/stop-request.mjs';
import { workspaceRoot } from '../up/workspace.mjs';
import { clearRun, quickFolder, runFolder } from './run-services.mjs';

const [command, ...args] = process.argv.slice(2);
const signal = stopRequest();
const folder = runFolder(process.pid);
let exitCode = 1;
try {
  const own = path.join(quickFolder(folder), 'postgres');
  const server = await startPostgres({ workspaceRoot, folder: own, databases: [], durable: false, signal });
  const env = { ...process.env, DATABASE_URL: server.url('postgres') };
  const child = spawn(command, args, { cwd: workspaceRoot, env, stdio: ['ignore', 'inherit', 'inherit'] });
  signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true });
  exitCode = await new Promise((resolve, reject) =>
    child.once('error', reject).once('exit', (code) => resolve(code ?? 1)),
  );
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
} finally {
  await clearRun(folder);
}
process.exit(exitCode);
