// @ts-check
// Checks the version of Node and installs the packages of the lock file.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isAtLeast, LOWEST_NODE } from '../build/lowest-node.mjs';
import { NODE_MACHINES, machineName, thisMachine } from '../embedded/machine.mjs';
import { send } from '../embedded/process.mjs';

export const workspaceRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** For these tools, equal to `engines` of package.json. The processes that they start need LOWEST_NODE. */
const OLDEST_NODE = '20.19';

/**
 * Of every process, here and in docker/Dockerfile. Node would let the part of the heap for new objects grow to 64 MiB at the
 * start, and to 128 MiB under load; with 8 MiB a process needs 20 to 100 MB less, and 5 to 10 % more CPU under load. With
 * --expose-gc, a process collects the garbage of its start: 20 MB.
 */
export const NODE_FLAGS = ['--enable-source-maps', '--max-semi-space-size=8', '--expose-gc'];

/** Of every process, too: the allocator of glibc returns what it does not need, 15 MB. */
export const MALLOC_SETTINGS = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' };

/** MiB. In a container, Node derives half of the container's memory; on a machine of its own it would allow some 4 GiB. */
const HEAP_LIMIT_MIB = 512;

/**
 * @param {string} [options] value of the caller's NODE_OPTIONS, which may set another limit
 * @returns the same with a limit
 */
export const withHeapLimit = (options = '') =>
  /--max[-_]old[-_]space[-_]size/.test(options)
    ? options
    : `${options} --max-old-space-size=${HEAP_LIMIT_MIB}`.trim();

/** Exits with a message instead of a syntax error if Node is too old. */
export function requireNode() {
  if (isAtLeast(process.versions.node, OLDEST_NODE)) return;
  console.error(
    `Certwright needs Node ${OLDEST_NODE} or newer; this is ${process.version} (${process.execPath}).`,
  );
  process.exit(1);
}

/**
 * The newer Node that comes with the packages (faster by a factor of two) if it runs on this machine; else the current one.
 * @returns {string} absolute path
 * @throws {Error} when neither is new enough for the processes
 */
export function nodeBinary() {
  const machine = thisMachine();
  const problem = nodeProblem(machine);
  if (problem) throw new Error(problem);
  return bundledNode(machine) ?? process.execPath;
}

/**
 * @param {import('../embedded/machine.mjs').Machine} machine
 * @param {string} [version] of the Node.js that runs this
 * @returns {string | null} message when no Node.js is new enough for the processes
 */
export function nodeProblem(machine, version = process.versions.node) {
  if (isAtLeast(version, LOWEST_NODE) || bundledNode(machine)) return null;
  const name = machineName(machine);
  const why = NODE_MACHINES.includes(name)
    ? 'the one that npm installs is missing or does not run (try npm ci --include=optional)'
    : `npm installs one for ${NODE_MACHINES.join(' and ')} only, not for ${name}`;
  return (
    `Node.js is too old: the processes need ${LOWEST_NODE} or newer; this is ${version} (${process.execPath}), ` +
    `and ${why}. Install Node.js 24${machine.platform === 'darwin' ? ' (brew install node@24)' : ''}.`
  );
}

/** @param {import('../embedded/machine.mjs').Machine} machine */
function bundledNode({ platform, arch }) {
  const bundled = path.join(workspaceRoot, `node_modules/node-${platform}-${arch}/bin/node`);
  const runs = existsSync(bundled) && spawnSync(bundled, ['--version']).status === 0;
  return runs ? bundled : undefined;
}

/**
 * Runs `npm ci` unless node_modules matches package-lock.json. On an interrupt it is killed, because npm ignores SIGTERM;
 * the next start detects an incomplete installation and repeats it.
 * @param {{ signal?: AbortSignal }} [how]
 */
export async function installPackages({ signal } = {}) {
  if (isInstalled()) return;
  console.log('Installing the packages of package-lock.json (npm ci) …');
  signal?.throwIfAborted();
  // Without warnings: packages that need a newer Node.js than npm's run with the Node.js that is installed with them.
  const npmCi = ['ci', '--loglevel=error'];
  const env = { ...process.env, PATH: pathWithoutPackages() };
  const child = spawn('npm', npmCi, {
    cwd: workspaceRoot,
    env,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const end = () => child.pid && send(-child.pid, 'SIGKILL');
  signal?.addEventListener('abort', end, { once: true });
  const outcome = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, killedBy) => resolve(killedBy ?? code));
  });
  signal?.removeEventListener('abort', end);
  signal?.throwIfAborted();
  if (outcome !== 0) throw new Error(`npm ci failed (${outcome}): see its output above.`);
}

/**
 * npm writes a lock of the installed packages, which is missing after an interrupted installation. Optional packages for
 * other machines may be missing.
 * @returns {boolean}
 */
function isInstalled() {
  const installed = lockedPackages('node_modules/.package-lock.json');
  if (installed === undefined) return false;
  const wanted = lockedPackages('package-lock.json') ?? {};
  return Object.entries(wanted).every(([place, { version, optional }]) => {
    if (place === '') return true;
    const present = installed[place];
    return present === undefined ? optional === true : present.version === version;
  });
}

/**
 * @param {string} file from the workspace root
 * @returns {Record<string, { version?: string, optional?: boolean }> | undefined}
 */
function lockedPackages(file) {
  try {
    return JSON.parse(readFileSync(path.join(workspaceRoot, file), 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** npm must not run with the Node that it removes and unpacks again. */
function pathWithoutPackages() {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders.filter((folder) => !folder.endsWith('node_modules/.bin')).join(path.delimiter);
}
