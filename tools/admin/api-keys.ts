import { randomBytes } from 'node:crypto';
import { ApiKeyEntity } from '@certwright/core-schema';
import { apiKeySha256, mintApiKey, permissions } from '@certwright/service';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import { announceDisabledKey } from './announce';
import type { WithDatabase } from './with-database';

export function apiKeyCommands(withDatabase: WithDatabase): Command {
  const key = new Command('key').description('API keys: `<account id>_<random>`, stored as a digest only');
  key
    .command('create')
    .description('create an API key; prints it once')
    .requiredOption('--account <id>', 'the account that it acts for')
    .option('--label <text>', 'what people call it', 'unnamed')
    .option(
      '--permission <permission...>',
      `any of: ${permissions.map((name) => `"${name}"`).join(', ')}`,
      [],
    )
    .action(
      async ({ account, label, permission }: { account: string; label: string; permission: string[] }) => {
        const unknown = permission.filter((name) => !(permissions as readonly string[]).includes(name));
        if (unknown.length > 0)
          throw new Error(`No such permission: ${unknown.join(', ')}. There are: ${permissions.join(', ')}.`);
        await withDatabase(async (database) => {
          const accountId = await existingAccount(database, account);
          console.log(await createApiKey(database, accountId, label, permission));
        });
      },
    );
  key
    .command('list')
    .description('list the keys of an account: id, label, state, permissions')
    .requiredOption('--account <id>', 'the account')
    .action(async ({ account }: { account: string }) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        const keys = await database
          .getRepository(ApiKeyEntity)
          .find({ where: { accountId }, order: { id: 'ASC' } });
        for (const { id, label, disabledAt, permissions: held } of keys) {
          console.log(
            [id, label, disabledAt === null ? 'enabled' : 'disabled', held.join(', ') || 'none'].join('\t'),
          );
        }
      });
    });
  key
    .command('disable <key>')
    .description(
      'disable a key by its id (see `key list`); running processes follow at once, at the latest in 10 seconds',
    )
    .action(async (id: string) => {
      if (!/^[1-9][0-9]{0,17}$/.test(id)) throw new Error(`"${id}" is no key id: see \`key list\`.`);
      await withDatabase(async (database) => {
        const keys = database.getRepository(ApiKeyEntity);
        const found = await keys.findOneBy({ id });
        if (found === null) throw new Error(`There is no key ${id}.`);
        if (found.disabledAt === null) await keys.update({ id }, { disabledAt: new Date() });
        console.log(`key ${id}: disabled`);
        await announceDisabledKey(found.secretSha256);
      });
    });
  return key;
}

/** @returns the key itself: this is the only moment at which it can be seen */
export async function createApiKey(
  database: DataSource,
  accountId: string,
  label: string,
  held: readonly string[],
): Promise<string> {
  const secret = mintApiKey(accountId, randomBytes);
  await database
    .getRepository(ApiKeyEntity)
    .insert({ accountId, label, permissions: [...held], secretSha256: apiKeySha256(secret) });
  return secret;
}
