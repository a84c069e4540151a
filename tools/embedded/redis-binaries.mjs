// @ts-check
// Finds redis-server on the PATH, or else unpacks Debian's packages into a folder, without root.
import { accessSync, constants, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { run } from './child.mjs';
import { thisMachine } from './machine.mjs';

/** Package lists are about 9 MB, the packages 1 MB; allows for a slow network. */
const FETCH_TIMEOUT_MS = 180_000;

/**
 * @typedef {object} RedisBinary
 * @property {string} command absolute path
 * @property {NodeJS.ProcessEnv} env additions to the environment of the command
 */

/**
 * @param {object} options
 * @param {string} options.cache stores fetched packages; safe to delete and to share between processes
 * @param {(line: string) => void} [options.report] called before packages are fetched
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<RedisBinary>}
 */
export async function redisBinary({ cache, report = () => undefined, signal }) {
  const installed = onPath('redis-server');
  if (installed) return { command: installed, env: {} };
  const home = path.join(cache, 'redis');
  if (existsSync(home)) return unpackedIn(home);
  const machine = thisMachine();
  const problem = redisProblem({ cache, setting: 'REDIS_URL', machine });
  if (problem) throw new Error(problem);
  report('Redis is not installed: fetching it from the Debian packages …');
  const scratch = path.join(cache, `fetch-${process.pid}`);
  try {
    await fetchPackages(scratch, signal);
    const binary = unpackedIn(path.join(scratch, 'root'));
    await run(binary.command, ['--version'], { env: { ...process.env, ...binary.env }, signal });
    settle(path.join(scratch, 'root'), home);
  } catch (error) {
    signal?.throwIfAborted();
    const cause = error instanceof Error ? error.message : error;
    throw new Error(`${missing(machine, 'REDIS_URL')}\nFetching it failed: ${cause}`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return unpackedIn(home);
}

/**
 * @param {{ cache: string, setting: string, machine: import('./machine.mjs').Machine }} where setting: names another server
 * @returns {string | null} message when there is no Redis and none can be fetched
 */
export function redisProblem({ cache, setting, machine }) {
  if (onPath('redis-server') || existsSync(path.join(cache, 'redis'))) return null;
  const isDebian = machine.platform === 'linux' && onPath('apt-get') && onPath('dpkg-deb');
  return isDebian ? null : missing(machine, setting);
}

/**
 * Uses a private package state: the system is not changed or locked, and signatures are checked as usual. Packages that the
 * system has installed are ignored, because a package may be installed in part. Redis and every library that it needs are
 * fetched, except the C library, which belongs to the system's dynamic linker.
 * @param {string} scratch
 * @param {AbortSignal} [signal]
 */
async function fetchPackages(scratch, signal) {
  /** @param {string} name */
  const below = (name) => path.join(scratch, name);
  const [state, cache, archives, root] = [below('state'), below('cache'), below('archives'), below('root')];
  for (const folder of [`${state}/lists/partial`, `${cache}/archives/partial`, archives, root]) {
    mkdirSync(folder, { recursive: true });
  }
  const options = [
    `Dir::State=${state}`,
    `Dir::Cache=${cache}`,
    'Dir::State::status=/var/lib/dpkg/status',
    'Debug::NoLocking=1',
    // Root's downloads would run as the user _apt, which cannot enter this folder.
    'APT::Sandbox::User=root',
    'Acquire::Retries=2',
    'Acquire::http::Timeout=20',
  ].flatMap((option) => ['-o', option]);
  const how = { cwd: archives, env: { ...process.env, LC_ALL: 'C' }, timeoutMs: FETCH_TIMEOUT_MS, signal };
  // One broken third-party source fails the whole update, but the next step may still succeed.
  const update = await run('apt-get', [...options, 'update'], how).catch(
    (/** @type {Error} */ error) => error,
  );
  try {
    const { stdout } = await run('apt-cache', [...options, ...DEPENDENCIES_OF_REDIS], how);
    await run('apt-get', [...options, 'download', ...packagesToUnpack(stdout)], how);
  } catch (error) {
    const causes = [update, error].filter((cause) => cause instanceof Error).map((cause) => cause.message);
    throw new Error(causes.join('\n'));
  }
  const packages = readdirSync(archives).filter((name) => name.endsWith('.deb'));
  for (const name of packages) await run('dpkg-deb', ['-x', path.join(archives, name), root], { signal });
}

const DEPENDENCIES_OF_REDIS = ['depends', '--recurse', '--important', 'redis-tools'];

/**
 * The two packages of Redis (the binary of `redis-server` is a file of `redis-tools`) and the libraries that these need.
 * @param {string} dependencies what `apt-cache depends --recurse` prints: a line for each package, and its dependencies
 *   indented below it; `|` marks all but the last of several alternatives, of which the first is enough
 * @returns {string[]}
 */
export function packagesToUnpack(dependencies) {
  /** @type {Map<string, string[]>} */
  const libraries = new Map();
  /** @type {string[]} */
  let current = [];
  let isAlternative = false;
  for (const line of dependencies.split('\n')) {
    const [, mark, name = ''] = /^ ([ |])(?:Pre)?Depends: (\S+)$/.exec(line) ?? [];
    if (!line.startsWith(' ')) libraries.set(line, (current = []));
    else if (mark !== undefined && !isAlternative && isLibrary(name)) current.push(name);
    isAlternative = mark === '|';
  }
  const wanted = new Set(['redis-server', 'redis-tools']);
  for (const name of wanted) for (const library of libraries.get(name) ?? []) wanted.add(library);
  return [...wanted];
}

/** @param {string} name of a package. The C library belongs to the system's dynamic linker and is always installed. */
function isLibrary(name) {
  return /^(?:lib|lua-)/.test(name) && name !== 'libc6';
}

/** @param {string} home @returns {RedisBinary} */
function unpackedIn(home) {
  const command = path.join(home, 'usr/bin/redis-server');
  const libraries = ['usr/lib', 'lib'].flatMap((folder) => {
    const parent = path.join(home, folder);
    if (!existsSync(parent)) return [];
    const triplets = readdirSync(parent).filter((name) => name.includes('-linux-'));
    return triplets.map((name) => path.join(parent, name));
  });
  return { command, env: { LD_LIBRARY_PATH: [...libraries, process.env.LD_LIBRARY_PATH ?? ''].join(':') } };
}

/**
 * Another process may have fetched at the same time; the first copy is kept.
 * @param {string} from
 * @param {string} to
 */
function settle(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

/** @param {string} program @returns {string | undefined} */
function onPath(program) {
  const candidates = (process.env.PATH ?? '')
    .split(path.delimiter)
    .map((folder) => path.join(folder, program));
  return candidates.find((candidate) => {
    try {
      accessSync(candidate, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * @param {import('./machine.mjs').Machine} machine
 * @param {string} setting names another server
 */
function missing({ platform }, setting) {
  const other = `set ${setting} to a Redis server`;
  /** @type {Record<string, string>} */
  const hints = {
    darwin: `install it (brew install redis), or ${other}`,
    linux: `install it (Debian and Ubuntu: apt install redis-server), or ${other}`,
  };
  return `Redis is missing: redis-server is not on the PATH; ${hints[platform] ?? other}.`;
}
