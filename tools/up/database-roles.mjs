// @ts-check
// The database roles of `npm start`: each app connects as its own, with the grants that its schema declares.
import { createRequire } from 'node:module';
import { databasePassword, places } from './home.mjs';

/** Apps with a role; libs/core-schema and libs/ct-schema declare its grants. */
const CORE_ROLES = [
  'orders-v3',
  'certs-v2',
  'ct-search',
  'issuance-worker',
  'approval-responder',
  'notifier',
  'monitoring',
  'monitoring-worker',
];
const CT_ROLES = ['ct-search', 'ct-ingest', 'monitoring', 'monitoring-worker'];

export const appsWithRoles = [...new Set([...CORE_ROLES, ...CT_ROLES])];

/** @typedef {(app: string, url: string) => string} UrlOf */

/**
 * Roles belong to the server. Their names begin with that of the core database, so that several sandboxes can share a server.
 * @param {string} databaseUrl
 */
export function databaseRoles(databaseUrl) {
  const database = decodeURIComponent(new URL(databaseUrl).pathname.slice(1));
  const prefix = `${database
    .toLowerCase()
    .replaceAll(/^(?=\d)|\W/g, '_')
    .slice(0, 40)}_`;
  for (const app of appsWithRoles) databasePassword(app);
  /** @type {UrlOf} */
  const urlOf = (app, url) => {
    const own = new URL(url);
    own.username = `${prefix}${app.replaceAll('-', '_')}`;
    own.password = databasePassword(app);
    return own.href;
  };
  return {
    prefix,
    passwordsFolder: places.databasePasswords,
    urlOf,
    /**
     * The reason why the roles cannot be used: on an external server they may be missing, or may not log in.
     * @param {string} coreUrl
     * @param {string} ctUrl
     * @returns {Promise<string | null>}
     */
    problem: async (coreUrl, ctUrl) => {
      const urls = [
        ...CORE_ROLES.map((app) => urlOf(app, coreUrl)),
        ...CT_ROLES.map((app) => urlOf(app, ctUrl)),
      ];
      const problems = await Promise.all(urls.map(connectionProblem));
      return problems.find((problem) => problem !== null) ?? null;
    },
  };
}

/** @param {string} connectionString */
async function connectionProblem(connectionString) {
  const { Client } = createRequire(import.meta.url)('pg');
  const client = new Client({ connectionString });
  try {
    await client.connect();
    await client.end();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
