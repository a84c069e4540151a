import { Accounts } from '@certwright/accounts';
import type { DataSource } from 'typeorm';
import { accountCommands, createAccount } from './accounts';
import { apiKeyCommands } from './api-keys';
import { adminFixture } from './testing/admin-fixture';

const admin = adminFixture();
let database: DataSource;
let accountId: string;

beforeAll(() => {
  database = admin.database;
});
beforeEach(async () => {
  accountId = await createAccount(database, 'Spec', null);
});

/** Runs `npm run admin -- account …`. @returns the output */
const run = async (...args: string[]) => (await admin.run([accountCommands], 'account', ...args)).join('\n');
const mail = async (...options: string[]) => await run('mail', accountId, ...options);

describe('account create', () => {
  const create = async (email: string) => await run('create', '--name', 'Example Ltd', '--email', email);

  it('stores the address for notices', async () => {
    expect((await new Accounts(database).get(await create('ops@example.com'))).contactEmail).toBe(
      'ops@example.com',
    );
  });

  it.each(['ops@example,com', 'ops', 'Ops <ops@example.com>', 'a@example.com, b@example.com'])(
    'refuses the address %j, to which no mail could be sent',
    async (email) => {
      await expect(create(email)).rejects.toThrow('Expected one email address');
    },
  );
});

it.each(['', ' ', 'Example\nLtd', 'Example\tLtd', 'a'.repeat(256)])('refuses the name %j', async (name) => {
  const before = await run('list');
  await expect(run('create', '--name', name)).rejects.toThrow('Expected 1 to 255 characters in one line');
  expect(await run('list')).toBe(before);
});

it.each(['', 'ci\n2\tadmin\tenabled\tFull Access'])('refuses a key with the label %j', async (label) => {
  const creating = admin.run([apiKeyCommands], 'key', 'create', '--account', accountId, '--label', label);
  await expect(creating).rejects.toThrow('Expected 1 to 255 characters in one line');
});

describe('account mail', () => {
  it('shows both settings, which are on by default, and changes only the given ones', async () => {
    expect(await mail()).toBe('when issued: on\twhen revoked: on');
    expect(await mail('--when-issued', 'off')).toBe('when issued: off\twhen revoked: on');
    expect(await mail('--when-revoked', 'off', '--when-issued', 'on')).toBe(
      'when issued: on\twhen revoked: off',
    );
    expect(await new Accounts(database).get(accountId)).toMatchObject({
      mailWhenIssued: true,
      mailWhenRevoked: false,
    });
  });

  it('refuses other values, and an account that does not exist', async () => {
    await expect(mail('--when-issued', 'maybe')).rejects.toThrow(/Allowed choices are on, off/);
    await expect(run('mail', '1', '--when-issued', 'off')).rejects.toThrow('There is no account 1.');
  });
});
