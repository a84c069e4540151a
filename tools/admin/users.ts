import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { AccountUserEntity, isUniqueViolation } from '@certwright/persistence';
import { Command } from 'commander';
import { existingAccount } from './accounts';
import type { WithDatabase } from './with-database';

export function userCommands(withDatabase: WithDatabase): Command {
  const user = new Command('user').description('people who sign in with email address and password');
  user
    .command('create')
    .description('create a user; prints a generated password once')
    .requiredOption('--account <id>', 'the account it belongs to')
    .requiredOption('--email <address>', 'the name to sign in with')
    .action(async ({ account, email }: { account: string; email: string }) => {
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new Error(`"${email}" is no email address.`);
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        const password = randomBytes(18).toString('base64url');
        const row = { accountId, email: email.toLowerCase(), passwordHash: await hashPassword(password) };
        try {
          await database.getRepository(AccountUserEntity).insert(row);
        } catch (error) {
          if (isUniqueViolation(error, 'account_user_email'))
            throw new Error(`A user ${row.email} exists already.`);
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
  return user;
}

/** scrypt (RFC 7914) with N = 2^15, r = 8, p = 1: 32 MiB and some 60 ms a guess. */
const cost = { N: 2 ** 15, r: 8, p: 1 } as const;
const hashLength = 32;

type Scrypt = (password: string, salt: Buffer, length: number, options: object) => Promise<Buffer>;

async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const derive = promisify(scrypt) as Scrypt;
  const hash = await derive(password, salt, hashLength, { ...cost, maxmem: 64 * 1024 * 1024 });
  return `scrypt:${cost.N}:${cost.r}:${cost.p}:${salt.toString('base64url')}:${hash.toString('base64url')}`;
}
