// @ts-check
// Builds all programs, and runs those that run once before the processes start.
import { createRequire } from 'node:module';
import path from 'node:path';
import { run } from '../embedded/child.mjs';
import { apps, bundleFolder, caFolder, gatewayFolder } from './apps.mjs';
import { databaseRoles } from './database-roles.mjs';
import { home } from './home.mjs';
import { workspaceRoot } from './workspace.mjs';

/** Programs that run once and end. */
const TOOLS = {
  migrate: 'tools/migrate/main.ts',
  admin: 'tools/admin/main.ts',
  gatewayKeys: 'tools/gateway-keys/main.ts',
};
/** A migration may rewrite a large table of an old sandbox. */
const MIGRATIONS_TIMEOUT_MS = 10 * 60_000;
const GATEWAY_KEYS_TIMEOUT_MS = 60_000;
const CA_TIMEOUT_MS = 60_000;

export async function bundleAll() {
  // Imported late: esbuild and swc exist only after the packages are installed.
  const { bundle } = await import('../build/bundle.mjs');
  const sources = [...apps.map(({ source }) => source), ...Object.values(TOOLS)];
  await Promise.all(sources.map((source) => bundle({ main: source }, bundleFolder(source))));
  // Otherwise its helper process runs as long as this one.
  await createRequire(import.meta.url)('esbuild').stop();
}

/**
 * Migrates both databases and creates a role for each app.
 * @param {string} node
 * @param {{ databaseUrl: string, ctDatabaseUrl: string }} stores
 * @param {{ create: boolean, signal: AbortSignal, say: (line: string) => void }} how create: databases that do not exist are created
 * @returns {Promise<import('./database-roles.mjs').UrlOf>}
 */
export async function migrate(node, { databaseUrl, ctDatabaseUrl }, { create, signal, say }) {
  const program = path.join(workspaceRoot, bundleFolder(TOOLS.migrate), 'main.js');
  const roles = databaseRoles(databaseUrl);
  const env = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    CT_DATABASE_URL: ctDatabaseUrl,
    DATABASE_ROLE_PREFIX: roles.prefix,
    DATABASE_ROLE_PASSWORDS_DIR: roles.passwordsFolder,
  };
  const args = ['--enable-source-maps', program, ...(create ? ['--create'] : [])];
  await run(node, args, { env, signal, timeoutMs: MIGRATIONS_TIMEOUT_MS });
  const problem = await roles.problem(databaseUrl, ctDatabaseUrl);
  if (problem === null) return roles.urlOf;
  say(`Every process connects to PostgreSQL as the owner, because its role cannot be used: ${problem}`);
  return (_, url) => url;
}

/**
 * Reverts the newest migration of each database: what a release finds after a rollback of its migrations.
 * @param {string} node
 * @param {{ databaseUrl: string, ctDatabaseUrl: string }} stores
 * @param {AbortSignal} signal
 */
export async function revertNewest(node, { databaseUrl, ctDatabaseUrl }, signal) {
  const program = path.join(workspaceRoot, bundleFolder(TOOLS.migrate), 'main.js');
  const env = { ...process.env, DATABASE_URL: databaseUrl, CT_DATABASE_URL: ctDatabaseUrl };
  for (const name of ['core', 'ct'])
    await run(node, [program, '--revert', '--database', name], {
      env,
      signal,
      timeoutMs: MIGRATIONS_TIMEOUT_MS,
    });
}

/**
 * @param {string} node
 * @param {AbortSignal} signal
 */
export async function makeGatewayKeys(node, signal) {
  const program = path.join(workspaceRoot, bundleFolder(TOOLS.gatewayKeys), 'main.js');
  await run(node, [program, gatewayFolder(home)], { signal, timeoutMs: GATEWAY_KEYS_TIMEOUT_MS });
}

/**
 * Creates the built-in CA on the first start; the key of its root is discarded. Later, it writes `root.pem` again.
 * @param {string} node
 * @param {{ databaseUrl: string, publicationUrl: string, signal: AbortSignal }} how
 */
export async function createCa(node, { databaseUrl, publicationUrl, signal }) {
  const program = path.join(workspaceRoot, bundleFolder(TOOLS.admin), 'main.js');
  const env = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    BUILT_IN_CA_KEYS: 'files',
    BUILT_IN_CA_DIR: caFolder(home),
    CA_PUBLICATION_URL: publicationUrl,
  };
  await run(node, [program, 'ca', 'create-sandbox'], { env, signal, timeoutMs: CA_TIMEOUT_MS });
}
