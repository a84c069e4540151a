import { randomBytes } from 'node:crypto';
import { ApiKeyEntity } from '@certwright/core-schema';
import { apiKeySha256, mintApiKey, permissions } from '@certwright/service';
import { Logger } from '@nestjs/common';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { Command } from 'commander';
import { lastValueFrom, timeout } from 'rxjs';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import { startedPlatform } from './started-platform';
import type { WithDatabase } from './with-database';

export function apiKeyCommands(withDatabase: WithDatabase): Command {
  const key = new Command('key').description('API keys, `<account id>_<random>`; only a digest is stored');
  key
    .command('create')
    .description('create an API key; prints it once')
    .requiredOption('--account <id>', 'the account')
    .option('--label <text>', 'its display name', 'unnamed')
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

/** Without a timeout, a ClientProxy waits forever for an unreachable Redis. */
const announcementTimeoutMs = 3_000;

/** Removes the key from the caches of running processes. The message may be lost: caches keep a key for at most 10 s. */
async function announceDisabledKey(secretSha256: Buffer): Promise<void> {
  const url = process.env['REDIS_URL'] ?? (await startedPlatform())?.redis_url;
  if (url === undefined) return;
  // Messages about the connection do not belong in the output.
  Logger.overrideLogger(false);
  const { hostname, port, username, password } = new URL(url);
  const client = ClientProxyFactory.create({
    transport: Transport.REDIS,
    options: {
      host: hostname,
      port: Number(port || 6379),
      ...(username === '' ? {} : { username }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      retryAttempts: 0,
    },
  });
  try {
    const sent = client.emit('api-key-disabled', { secretSha256: secretSha256.toString('hex') });
    await lastValueFrom(sent.pipe(timeout(announcementTimeoutMs)), { defaultValue: undefined });
  } catch {
    console.error('Redis is unreachable: running processes stop accepting the key within 10 seconds.');
  } finally {
    await client.close();
  }
}
