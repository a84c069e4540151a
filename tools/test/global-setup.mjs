// @ts-check
// Once per Jest run, before any spec: starts the stores and tells the workers, which inherit this environment.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { run } from '../embedded/child.mjs';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';
import { quickFolder, runFolder, startServices } from './run-services.mjs';

/** Settings of a person's own deployment: no spec may reach it by accident. */
const NOT_FOR_SPECS = ['DATABASE_URL', 'DATABASE_POOLER', 'REDIS_URL'];

export default async function setUp() {
  const folder = process.env.CERTWRIGHT_TEST_RUN ?? runFolder(process.pid);
  // Workers and the programs that specs start load the same packages: compiled before, each starts a third faster.
  const compiled = path.join(quickFolder(folder), 'compiled');
  const [{ services, stop }] = await Promise.all([startServices(folder), compilePackages(compiled)]);
  for (const name of NOT_FOR_SPECS) delete process.env[name];
  Object.assign(process.env, services);
  process.env.NODE_COMPILE_CACHE = compiled;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.once(signal, () => void stop().finally(() => process.exit(130)));
  }
  Object.assign(globalThis, { stopTestServices: stop });
}

/**
 * A process writes what it has compiled when it ends, which workers do late and killed programs never.
 * @param {string} folder
 */
async function compilePackages(folder) {
  const { dependencies } = JSON.parse(readFileSync(path.join(workspaceRoot, 'package.json'), 'utf8'));
  const program = `${JSON.stringify(Object.keys(dependencies))}.forEach((name) => require(name))`;
  const env = { ...process.env, NODE_COMPILE_CACHE: folder };
  await run(nodeBinary(), ['-e', program], { cwd: workspaceRoot, env });
}
