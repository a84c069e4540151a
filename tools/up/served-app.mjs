// @ts-check
// Runs one app of `npm start` instead of it, and rebuilds it on change.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { bundleOptions, entryPointsOf } from '../build/bundle.mjs';
import { stopProcess } from '../embedded/process.mjs';
import { home, isRunning, places } from './home.mjs';
import { inherited } from './services.mjs';
import { shortPath } from './take-over.mjs';
import { NODE_FLAGS, nodeBinary, workspaceRoot } from './workspace.mjs';

/**
 * Runs until it or `npm start` is stopped.
 * @param {string} projectRoot such as apps/orders-v3
 * @returns {Promise<number>} exit code
 */
export async function serve(projectRoot) {
  const app = path.basename(projectRoot);
  const connection = await connect();
  if (!connection) {
    console.error(
      isRunning()
        ? `npm start is not ready yet: run \`npx nx serve ${app}\` again after it has printed its addresses.`
        : `npm start is not running with ${home}: run \`npm start\` in another terminal first, then \`npx nx serve ${app}\`.`,
    );
    return 1;
  }
  const stop = new AbortController();
  const end = (/** @type {string} */ reason) => stop.abort(reason);
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(name, () => end(''));
  // After a line that may have arrived with it.
  connection.once('end', () => setImmediate(end, 'npm start has ended'));
  connection.once('close', () => end('npm start has ended'));

  /** @type {Promise<import('./take-over.mjs').Granted> | undefined} */
  let granted;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;
  const restart = async () => {
    // After the first good build: until then, the copy of npm start keeps running.
    const { environment, cwd, pidFile } = await (granted ??= takeOver(connection, app));
    await ended(child);
    if (stop.signal.aborted) return;
    const program = path.join(workspaceRoot, `dist/${projectRoot}/main.js`);
    child = spawn(nodeBinary(), [...NODE_FLAGS, program], {
      cwd,
      env: { ...inherited(), ...environment },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    // npm start uses the pid to stop it if this process is killed.
    writeFileSync(pidFile, `${child.pid}\n`);
    child.once('exit', (code, signal) => {
      if (!stop.signal.aborted)
        console.log(`${app} exited (${signal ?? `exit code ${code}`}); it restarts after the next change.`);
    });
  };
  const watching = await watch(projectRoot, () => restart().catch((error) => end(error.message)));
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  await watching.dispose();
  await ended(child);
  connection.destroy();
  if (stop.signal.reason === '') return 0;
  console.error(`nx serve ${app}: ${stop.signal.reason}.`);
  return 1;
}

/** @returns {Promise<net.Socket | undefined>} undefined when npm start is not listening */
function connect() {
  return new Promise((resolve) => {
    const connection = net.connect({ path: shortPath(places.control), allowHalfOpen: true });
    connection.once('error', () => resolve(undefined));
    connection.once('connect', () => {
      connection.on('error', () => undefined);
      resolve(connection);
    });
  });
}

/**
 * @param {net.Socket} connection
 * @param {string} app
 * @returns {Promise<import('./take-over.mjs').Granted>}
 */
async function takeOver(connection, app) {
  const lines = createInterface({ input: connection });
  connection.write(`${JSON.stringify({ app })}\n`);
  const [line] = await Promise.race([once(lines, 'line'), once(lines, 'close').then(() => [])]);
  if (line === undefined) throw new Error('npm start has ended');
  /** @type {import('./take-over.mjs').Reply} */
  const reply = JSON.parse(line);
  if ('error' in reply) throw new Error(reply.error);
  return reply;
}

/**
 * @param {string} projectRoot
 * @param {() => Promise<void>} onBuilt after each good build
 */
async function watch(projectRoot, onBuilt) {
  const esbuild = createRequire(import.meta.url)('esbuild');
  const options = bundleOptions(entryPointsOf(projectRoot), `dist/${projectRoot}`);
  const restart = {
    name: 'restart',
    setup(/** @type {import('esbuild').PluginBuild} */ build) {
      build.onEnd(async ({ errors }) => {
        if (errors.length === 0) await onBuilt();
      });
    },
  };
  const context = await esbuild.context({ ...options, plugins: [...options.plugins, restart] });
  await context.watch();
  return context;
}

/** @param {import('node:child_process').ChildProcess | undefined} child */
async function ended(child) {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  await stopProcess(child.pid);
}
