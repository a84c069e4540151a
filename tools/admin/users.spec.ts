import { AccountUsers } from '@certwright/accounts';
import { Passwords } from '@certwright/service';
import type { DataSource } from 'typeorm';
import { createAccount } from './accounts';
import { userCommands } from './users';
import { adminFixture } from './testing/admin-fixture';

const admin = adminFixture();
let database: DataSource;
let accountId: string;

beforeAll(() => {
  database = admin.database;
});
beforeEach(async () => {
  await database.query(`DELETE FROM account_user`);
  accountId = await createAccount(database, 'Spec', null);
});

/** Runs `npm run admin -- user …`. @returns the output */
const run = async (...args: string[]) => (await admin.run([userCommands], 'user', ...args)).join('\n');
const create = async (email: string) => await run('create', '--account', accountId, '--email', email);
/** Looks a user up by credentials. */
const signedIn = async (userName: string, password: string) =>
  await new Passwords(new AccountUsers(database)).find({ kind: 'password', userName, password }, (check) =>
    check(),
  );

it('creates a user who can sign in, prints the password once, and stores only its hash', async () => {
  const [email = '', password = '', note] = (await create('Ops@Example.com')).split('\t');
  expect([email, note]).toEqual(['ops@example.com', '(shown once)']);
  expect(password).toMatch(/^[\w-]{24}$/);
  expect(await signedIn(email, password)).toMatchObject({ accountId, disabled: false });
  expect(await signedIn(email, `${password}x`)).toBeNull();
  expect(JSON.stringify(await database.query(`SELECT * FROM account_user`))).not.toContain(password);
  expect(await run('list', '--account', accountId)).toMatch(/^\d+\tops@example\.com\tenabled$/);
});

it('sets a new password, which ends the previous one', async () => {
  const [, first = ''] = (await create('ops@example.com')).split('\t');
  const [email = '', second = ''] = (await run('password', 'OPS@example.com')).split('\t');
  expect([await signedIn(email, first), (await signedIn(email, second))?.accountId]).toEqual([
    null,
    accountId,
  ]);
});

it('disables and enables a user', async () => {
  const [email = '', password = ''] = (await create('ops@example.com')).split('\t');
  expect(await run('disable', email)).toBe('user ops@example.com: disabled');
  expect(await signedIn(email, password)).toMatchObject({ disabled: true });
  expect(await run('list', '--account', accountId)).toContain('\tdisabled');
  await run('enable', email);
  expect(await signedIn(email, password)).toMatchObject({ disabled: false });
});

it.each(['ops', 'a@b@c', 'a:b@example.com', 'a b@example.com', 'a\0@example.com', `${'a'.repeat(250)}@b.de`])(
  'refuses %j as a user name',
  async (email) => {
    await expect(create(email)).rejects.toThrow('is not an email address');
  },
);

it('refuses an existing user, also of another account, and changes of a missing one', async () => {
  await create('ops@example.com');
  accountId = await createAccount(database, 'Another', null);
  await expect(create('OPS@example.com')).rejects.toThrow('already exists');
  for (const verb of ['disable', 'enable', 'password'])
    await expect(run(verb, 'missing@example.com')).rejects.toThrow('There is no user missing@example.com.');
});
