import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const folder = mkdtempSync(path.join(tmpdir(), 'certwright-roles-'));
process.env.CERTWRIGHT_HOME = folder;
const url = process.env.CERTWRIGHT_TEST_DATABASE_URL;
let databaseRoles;
beforeAll(async () => {
  ({ databaseRoles } = await import('./database-roles.mjs'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const named = (database) => {
  const own = new URL(url);
  own.pathname = `/${database}`;
  return own.href;
};

it('have names with the prefix of the database, and passwords that only their owner may read', () => {
  const { prefix, urlOf, passwordsFolder } = databaseRoles(named('Shop-1'));
  expect(prefix).toBe('shop_1_');
  const { username, password } = new URL(urlOf('orders-v3', named('Shop-1')));
  expect(username).toBe('shop_1_orders_v3');
  expect(decodeURIComponent(password)).toMatch(/^.{44}$/);
  expect(urlOf('orders-v3', named('other'))).toBe(urlOf('orders-v3', named('other')));
  expect(statSync(path.join(passwordsFolder, 'orders-v3')).mode & 0o777).toBe(0o600);
});

it('cannot be used on a server without them', async () => {
  const { problem } = databaseRoles(named('none_of_ours'));
  expect(await problem(url, url)).toMatch(/password authentication failed|does not exist/);
});
