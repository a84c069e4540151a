import { randomInt } from 'node:crypto';
import { AccountEntity } from '@certwright/core-schema';
import { Accounts } from '@certwright/accounts';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { DataSource } from 'typeorm';
import { isMailAddress } from '../../apps/notifier/src/mail/mail-address';
import { oneLine } from './option-values';
import type { WithDatabase } from './with-database';

export function accountCommands(withDatabase: WithDatabase): Command {
  const account = new Command('account').description('accounts (tenants) of this deployment');
  account
    .command('create')
    .description('create an account; prints its id')
    .requiredOption('--name <name>', 'its display name', oneLine(255))
    .option('--email <address>', 'address for notices about its certificates', mailAddress)
    .action(async ({ name, email }: { name: string; email?: string }) => {
      await withDatabase(async (database) => console.log(await createAccount(database, name, email ?? null)));
    });
  account
    .command('list')
    .description('list all accounts: id, name, email, state')
    .action(async () => {
      await withDatabase(async (database) => {
        const accounts = await database.getRepository(AccountEntity).find({ order: { createdAt: 'ASC' } });
        for (const { id, name, contactEmail, disabledAt } of accounts) {
          console.log(
            [id, name, contactEmail ?? '-', disabledAt === null ? 'enabled' : 'disabled'].join('\t'),
          );
        }
      });
    });
  const onOrOff = (flags: string, description: string) =>
    new Option(flags, description).choices(['on', 'off']);
  account
    .command('mail <account>')
    .description('turn mails about certificates of the certificate API (v2) on or off; prints the settings')
    .addOption(onOrOff('--when-issued <on|off>', 'for each issued instance'))
    .addOption(onOrOff('--when-revoked <on|off>', 'when a revocation is complete'))
    .action(
      async (id: string, { whenIssued, whenRevoked }: { whenIssued?: string; whenRevoked?: string }) => {
        await withDatabase(async (database) => {
          const accounts = new Accounts(database);
          const existing = await existingAccount(database, id);
          if (whenIssued !== undefined || whenRevoked !== undefined) {
            await accounts.changeMailSettings(existing, {
              ...(whenIssued === undefined ? {} : { mailWhenIssued: whenIssued === 'on' }),
              ...(whenRevoked === undefined ? {} : { mailWhenRevoked: whenRevoked === 'on' }),
            });
          }
          const { mailWhenIssued, mailWhenRevoked } = await accounts.get(existing);
          const shown = (isOn: boolean) => (isOn ? 'on' : 'off');
          console.log(`when issued: ${shown(mailWhenIssued)}\twhen revoked: ${shown(mailWhenRevoked)}`);
        });
      },
    );
  for (const [verb, disabledAt] of [
    ['disable', () => new Date()],
    ['enable', () => null],
  ] as const) {
    account
      .command(`${verb} <account>`)
      .description(`${verb} an account and all its API keys (takes effect within 10 seconds)`)
      .action(async (id: string) => {
        await withDatabase(async (database) => {
          const accounts = database.getRepository(AccountEntity);
          const { affected } = await accounts.update({ id: accountId(id) }, { disabledAt: disabledAt() });
          if (affected === 0) throw new Error(`There is no account ${id}.`);
          console.log(`account ${id}: ${verb}d`);
        });
      });
  }
  return account;
}

/** Empty: none. The notifier sends no mail to an address that fails this check. */
function mailAddress(text: string): string {
  if (text !== '' && !isMailAddress(text))
    throw new InvalidArgumentError('Expected one email address, without a name.');
  return text;
}

/** Random ids of up to 47 bits: they can neither be guessed nor counted. */
const accountIds = { min: 10 ** 12, below: 2 ** 47 };

export async function createAccount(
  database: DataSource,
  name: string,
  email: string | null,
): Promise<string> {
  const id = String(randomInt(accountIds.min, accountIds.below));
  await database.getRepository(AccountEntity).insert({ id, name, contactEmail: email });
  return id;
}

/** @throws Error unless the text is an account id */
export function accountId(text: string): string {
  if (!/^[1-9][0-9]{0,17}$/.test(text)) throw new Error(`"${text}" is not an account id: expected digits.`);
  return text;
}

/** @throws Error when it does not exist */
export async function existingAccount(database: DataSource, text: string): Promise<string> {
  const id = accountId(text);
  if (!(await database.getRepository(AccountEntity).existsBy({ id })))
    throw new Error(`There is no account ${id}.`);
  return id;
}
