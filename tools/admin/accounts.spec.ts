import { Accounts } from '@certwright/accounts';
import { coreDataSource } from '@certwright/core-schema';
import { type TestDatabase, testDatabase } from '@certwright/testing';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { accountCommands, createAccount } from './accounts';

let test: TestDatabase;
let database: DataSource;
let accountId: string;
let printed: string[];

beforeAll(async () => {
  test = await testDatabase();
  database = coreDataSource({
    url: test.url,
    applicationName: 'spec',
    poolSize: 2,
    statementTimeoutMs: 10_000,
  });
  await database.initialize();
});
afterAll(async () => {
  await database.destroy();
  await test.dispose();
});
beforeEach(async () => {
  accountId = await createAccount(database, 'Spec', null);
  jest.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
});
afterEach(() => jest.restoreAllMocks());

/** As `npm run admin -- account …`. @returns what was printed */
async function run(...args: string[]): Promise<string> {
  printed = [];
  const account = accountCommands(async (work) => await work(database));
  account.commands.forEach((command) =>
    command.exitOverride().configureOutput({ writeErr: () => undefined }),
  );
  await new Command('admin').addCommand(account).parseAsync(['account', ...args], { from: 'user' });
  return printed.join('\n');
}
const mail = async (...options: string[]) => await run('mail', accountId, ...options);

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
