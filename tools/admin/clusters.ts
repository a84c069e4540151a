import { ClusterEntity } from '@certwright/core-schema';
import { Command } from 'commander';
import { existingAccount } from './accounts';
import type { WithDatabase } from './with-database';

export function clusterCommands(withDatabase: WithDatabase): Command {
  const cluster = new Command('cluster').description('groups of agents that manage the keys of orders');
  cluster
    .command('create <name>')
    .description('create a cluster that orders of the account can name; does nothing if it exists')
    .requiredOption('--account <id>', 'the account')
    .action(async (name: string, { account }: { account: string }) => {
      if (name === '' || name.length > 255) throw new Error('The name of a cluster has 1 to 255 characters.');
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        await database
          .createQueryBuilder()
          .insert()
          .into(ClusterEntity)
          .values({ accountId, name })
          .orIgnore()
          .execute();
        console.log(`cluster ${name} of account ${accountId}`);
      });
    });
  cluster
    .command('list')
    .description('list the clusters of an account')
    .requiredOption('--account <id>', 'the account')
    .action(async ({ account }: { account: string }) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        const clusters = await database
          .getRepository(ClusterEntity)
          .find({ where: { accountId }, order: { name: 'ASC' } });
        for (const { name } of clusters) console.log(name);
      });
    });
  return cluster;
}
