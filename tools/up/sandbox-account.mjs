// @ts-check
// The sandbox's account and its API key. A key is shown only once, so the one in start.json is used while it is valid.
import path from 'node:path';
import { run } from '../embedded/child.mjs';
import { workspaceRoot } from './workspace.mjs';

const REQUEST_TIMEOUT_MS = 10_000;

/**
 * @typedef {object} Account
 * @property {string} account_id
 * @property {string} api_key
 */

/**
 * Creates a new account only if the key is unknown: the database is then not the one in which the key was created.
 * @param {{ known: Account | undefined, ordersApi: string, node: string, databaseUrl: string, signal: AbortSignal }} how
 * @returns {Promise<Account & { isNew: boolean }>}
 */
export async function sandboxAccount({ known, ordersApi, node, databaseUrl, signal }) {
  if (known?.api_key && (await isKnown(known.api_key, ordersApi))) {
    return { account_id: known.account_id, api_key: known.api_key, isNew: false };
  }
  const program = path.join(workspaceRoot, 'dist/tools/admin/main.js');
  const env = { ...process.env, DATABASE_URL: databaseUrl };
  const { stdout } = await run(node, [program, 'seed-sandbox', '--json'], { env, signal });
  const { account_id, api_key } = JSON.parse(stdout);
  return { account_id, api_key, isNew: true };
}

/**
 * @param {string} key
 * @param {string} ordersApi base URL
 */
async function isKnown(key, ordersApi) {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${ordersApi}/api/v3/orders?limit=1`, {
    headers,
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  await response.arrayBuffer();
  return response.status !== 401;
}
