import { randomBytes } from 'node:crypto';
import { AccountUserEntity, isUniqueViolation } from '@certwright/core-schema';
import { hashPassword } from '@certwright/service';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import type { WithDatabase } from './with-database';

export function userCommands(withDatabase: WithDatabase): Command {
  const user = new Command('user').description('people who sign in with email address and password');
  user
    .command('create')
    .description('create a user; prints a generated password once')
    .requiredOption('--account <id>', 'the account')
    .requiredOption('--email <address>', 'email address to sign in with')
    .action(async ({ account, email }: { account: string; email: string }) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        const password = freshPassword();
        const row = { accountId, email: userName(email), passwordHash: await hashPassword(password) };
        try {
          await database.getRepository(AccountUserEntity).insert(row);
        } catch (error) {
          if (isUniqueViolation(error, 'account_user_email'))
            throw new Error(`A user ${row.email} already exists.`);
          throw error;
        }
        console.log(`${row.email}\t${password}\t(shown once)`);
      });
    });
  user
    .command('list')
    .description('list the users of an account: id, email, state')
    .requiredOption('--account <id>', 'the account')
    .action(async ({ account }: { account: string }) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        const users = await database
          .getRepository(AccountUserEntity)
          .find({ where: { accountId }, order: { id: 'ASC' } });
        for (const { id, email, disabledAt } of users) {
          console.log([id, email, disabledAt === null ? 'enabled' : 'disabled'].join('\t'));
        }
      });
    });
  addChangeCommands(user, withDatabase);
  return user;
}

function addChangeCommands(user: Command, withDatabase: WithDatabase): void {
  user
    .command('password <email>')
    .description('set a new password of a user; prints it once. The previous one is invalid at once')
    .action(async (email: string) => {
      await withDatabase(async (database) => {
        const password = freshPassword();
        await change(database, email, { passwordHash: await hashPassword(password) });
        console.log(`${userName(email)}\t${password}\t(shown once)`);
      });
    });
  for (const [verb, disabledAt] of [
    ['disable', () => new Date()],
    ['enable', () => null],
  ] as const) {
    user
      .command(`${verb} <email>`)
      .description(`${verb} a user, at once; API keys that the user knows are unchanged (see \`key list\`)`)
      .action(async (email: string) => {
        await withDatabase(async (database) => {
          await change(database, email, { disabledAt: disabledAt() });
          console.log(`user ${userName(email)}: ${verb}d`);
        });
      });
  }
}

type Change = Partial<Pick<AccountUserEntity, 'passwordHash' | 'disabledAt'>>;

/** @throws Error when there is no such user */
async function change(database: DataSource, email: string, values: Change): Promise<void> {
  const { affected } = await database
    .getRepository(AccountUserEntity)
    .update({ email: userName(email) }, values);
  if (affected === 0) throw new Error(`There is no user ${userName(email)}.`);
}

/** As looked up at sign-in: lower case, and without a colon, because of Basic authentication (RFC 7617, section 2). */
function userName(email: string): string {
  if (!/^[^\s\p{Cc}@:]+@[^\s\p{Cc}@:]+$/u.test(email) || Buffer.byteLength(email) > maxAddressBytes)
    throw new Error(`"${email}" is not an email address.`);
  return email.normalize('NFC').toLowerCase();
}

/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const maxAddressBytes = 254;

const freshPassword = (): string => randomBytes(18).toString('base64url');
