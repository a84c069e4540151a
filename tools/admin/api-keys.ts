import { randomBytes } from 'node:crypto';
import { ApiKeyEntity } from '@certwright/core-schema';
import { announceDisabledKey as announceKey } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { apiKeySha256, defineSettings, mintApiKey, permissions, redisSettings } from '@certwright/service';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import { oneLine } from './option-values';
import { startedPlatform } from './started-platform';
import type { WithDatabase } from './with-database';

export function apiKeyCommands(withDatabase: WithDatabase): Command {
  const key = new Command('key').description('API keys, `<account id>_<random>`; only a digest is stored');
  key
    .command('create')
    .description('create an API key; prints it once')
    .requiredOption('--account <id>', 'the account')
    .option('--label <text>', 'its display name', oneLine(255), 'unnamed')
    .option(
      '--permission <permission...>',
      `any of: ${permissions.map((name) => `"${name}"`).join(', ')}`,
      [],
    )
    .action(
      async ({ account, label, permission }: { account: string; label: string; permission: string[] }) => {
        const unknown = permission.filter((name) => !(permissions as readonly string[]).includes(name));
        if (unknown.length > 0)
          throw new Error(
            `Unknown permission: ${unknown.join(', ')}. Choose from: ${permissions.join(', ')}.`,
          );
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
      'disable a key by its id (see `key list`); takes effect at once if Redis is reachable, else within 10 seconds',
    )
    .action(async (id: string) => {
      if (!/^[1-9][0-9]{0,17}$/.test(id)) throw new Error(`"${id}" is not a key id: see \`key list\`.`);
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

/** @returns the key itself, which cannot be read again later */
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

const settings = defineSettings(redisSettings({ meaning: 'Notifies running processes of disabled keys' }));

const announcementTimeoutMs = 3_000;

/** Messages about the connection do not belong in the output. */
const silentLog = { warn: () => undefined, info: () => undefined };

/** Removes the key from the caches of running processes. The message may be lost: caches keep a key for at most 10 s. */
async function announceDisabledKey(secretSha256: Buffer): Promise<void> {
  const REDIS_URL = (await startedPlatform())?.redis_url;
  const environment = { REDIS_URL, ...process.env };
  if (!environment.REDIS_URL && !process.env['REDIS_URL_FILE']) return;
  const redis = new RedisAccess(settings.read(environment));
  try {
    await announceKey(redis, secretSha256, { log: silentLog, withinMs: announcementTimeoutMs });
  } catch {
    console.error('Redis is unreachable: running processes stop accepting the key within 10 seconds.');
  }
}
