// @ts-check
// After a run: what each role did, by the log of the run's PostgreSQL, against the grants that the schemas declare for it.
import {
  createReadStream,
  existsSync,
  readdirSync,
  readFileSync,
  copyFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { bundle } from '../build/bundle.mjs';
import { run } from '../embedded/child.mjs';
import { startPostgres } from '../embedded/postgres.mjs';
import { appsWithRoles } from '../up/database-roles.mjs';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';
import { quickFolder } from './run-services.mjs';

/** For several thousand statements that are explained, on a machine that is busy. */
const WITHIN_MS = 10 * 60_000;

/** @param {string} folder of the run; these are beside it, since it is gone when they are read */
const kept = (folder) => ({ log: `${folder}.postgres.log`, prefix: `${folder}.role-prefix` });

/**
 * Keeps the log, which the run's folder would be removed with. A server that the run did not start has none.
 * @param {string} folder
 * @param {string} rolePrefix
 */
export function keepLog(folder, rolePrefix) {
  const log = path.join(quickFolder(folder), 'postgres/postgres.log');
  if (!existsSync(log)) return;
  copyFileSync(log, kept(folder).log);
  writeFileSync(kept(folder).prefix, rolePrefix);
}

/** @param {string} folder */
export function forgetLog(folder) {
  for (const file of Object.values(kept(folder))) rmSync(file, { force: true });
}

/**
 * A role that was refused something fails always; a grant that no statement needs, when all specs of its app have passed.
 * @param {string} folder
 * @param {{ passedFiles: readonly string[], isFiltered: boolean }} ran isFiltered: some tests of these files were left out
 * @param {AbortSignal} signal
 * @returns {Promise<{ passed: number, failed: number }>}
 */
export async function checkGrants(folder, { passedFiles, isFiltered }, signal) {
  const { log, prefix } = kept(folder);
  if (!existsSync(log) || signal.aborted) return { passed: 0, failed: 0 };
  const apps = isFiltered ? [] : appsWithin(new Set(passedFiles));
  const rolePrefix = readFileSync(prefix, 'utf8');
  if (apps.length === 0 && !(await isRefused(log, rolePrefix))) return { passed: 0, failed: 0 };
  const own = path.join(folder, 'grants');
  const outdir = path.relative(workspaceRoot, own);
  await bundle({ main: 'tools/grants/main.ts' }, outdir);
  await createRequire(import.meta.url)('esbuild').stop();
  const server = await startPostgres({
    workspaceRoot,
    folder: path.join(own, 'postgres'),
    databases: [],
    durable: false,
    signal,
  });
  try {
    const args = ['--enable-source-maps', path.join(own, 'main.js'), log, rolePrefix, ...apps];
    const env = { ...process.env, DATABASE_URL: server.url('postgres') };
    const { stdout } = await run(nodeBinary(), args, { env, signal, timeoutMs: WITHIN_MS });
    const { faults, checked } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    if (checked.length > 0)
      console.log(`Every statement of ${checked.join(', ')} was compared with its grants.`);
    for (const fault of faults) console.log(`✕ grants of ${fault}`);
    return { passed: faults.length === 0 ? checked.length : 0, failed: faults.length };
  } finally {
    await server.stop();
  }
}

/**
 * Whether anything was refused to a role but what specs try on purpose: most runs need no look at their statements.
 * @param {string} log
 * @param {string} rolePrefix
 */
async function isRefused(log, rolePrefix) {
  for await (const line of createInterface({ input: createReadStream(log), crlfDelay: Infinity }))
    if (line.startsWith(rolePrefix) && /^[^|]+\|(?!tries what is forbidden\|)[^|]*\|42501 ERROR/.test(line))
      return true;
  return false;
}

/**
 * Apps of which every spec is among these.
 * @param {ReadonlySet<string>} files absolute
 */
function appsWithin(files) {
  const apps = path.join(workspaceRoot, 'apps');
  return appsWithRoles.filter((app) => {
    const specs = readdirSync(path.join(apps, app), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.spec.ts'))
      .map((name) => path.join(apps, app, name));
    return specs.length > 0 && specs.every((spec) => files.has(spec));
  });
}
