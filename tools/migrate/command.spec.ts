import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { testDatabase, type TestDatabase } from '@certwright/testing';

const workspaceRoot = path.join(__dirname, '../..');
const migrate = path.join(workspaceRoot, 'dist/tools/migrate/main.js');

/** Not those of the test run, whose passwords other specs use. */
const rolePrefix = `command_${randomBytes(6).toString('hex')}_`;

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  // Builds the command.
  execFileSync(process.execPath, ['tools/run.mjs', 'migrate', '--help'], { cwd: workspaceRoot });
  database = await testDatabase();
  folder = mkdtempSync(path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', 'migrate-'));
}, 120_000);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  const roles = await database.query<{ name: string }>(
    `SELECT quote_ident(rolname) AS name FROM pg_roles WHERE starts_with(rolname, $1)`,
    [rolePrefix],
  );
  const names = roles.map(({ name }) => name).join();
  if (names !== '') await database.query(`DROP OWNED BY ${names}; DROP ROLE ${names}`);
  await database.dispose();
});

/** `npm run migrate -- --database core`, with more arguments and settings. Not through a pooler: migrations need sessions. */
function run(args: readonly string[], settings: Readonly<Record<string, string>> = {}) {
  const url = new URL(process.env['CERTWRIGHT_TEST_DATABASE_URL'] ?? '');
  url.pathname = new URL(database.url).pathname;
  const own = { DATABASE_URL: url.href, DATABASE_ROLE_PREFIX: rolePrefix };
  const { status, stdout, stderr } = spawnSync(process.execPath, [migrate, '--database', 'core', ...args], {
    env: { ...process.env, ...own, ...settings },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

it('names the migration that it reverts, so that an operator does not revert another one', async () => {
  run([]);
  const newest = async () =>
    (await database.query<{ name: string }>(`SELECT name FROM core_migration ORDER BY id DESC LIMIT 1`))[0]
      ?.name;
  const name = await newest();
  expect(run(['--revert'])).toEqual({ status: 0, stdout: `reverted core: ${name}\n`, stderr: '' });
  expect(await newest()).not.toBe(name);
  expect(run([]).stdout).toContain(`migrated core: ${name}\n`);
  expect(await newest()).toBe(name);
}, 60_000);

it('says which passwords it sets', () => {
  writeFileSync(path.join(folder, 'orders-v3'), 'a-new-password\n');
  const { status, stdout } = run([], { DATABASE_ROLE_PASSWORDS_DIR: folder });
  expect(status).toBe(0);
  expect(stdout).toContain('set the passwords of: orders-v3\n');
});

it.each([
  [
    'a folder that does not exist',
    'missing',
    '',
    'DATABASE_ROLE_PASSWORDS_DIR names a folder that does not exist',
  ],
  ['an empty file', '.', '\n', 'notifier has no password: write one line of printable ASCII'],
  ['a password that is not ASCII', '.', 'pässword', 'notifier has no password: write one line'],
])('refuses %s of passwords, and sets none', (_what, name, content, message) => {
  writeFileSync(path.join(folder, 'notifier'), content);
  const { status, stderr } = run([], { DATABASE_ROLE_PASSWORDS_DIR: path.join(folder, name) });
  rmSync(path.join(folder, 'notifier'));
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(message) as string });
});

it.each(['database.example', 'mysql://owner:secret@db/core'])(
  'names the variable of %s, without it',
  (url) => {
    const { status, stderr } = run([], { DATABASE_URL: url });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'DATABASE_URL is not a URL that begins with postgres:// or postgresql://.\n',
    });
  },
);
