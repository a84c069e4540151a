import { Transactions } from '@certwright/core-schema';
import { Command } from 'commander';
import { recordChange } from '../../apps/monitoring/src/changes/monitoring-changes';
import { existingAccount } from './accounts';
import { integer } from './option-values';
import type { WithDatabase } from './with-database';

interface ChangeRow {
  readonly changed_at: Date;
  readonly api_key_id: string | null;
  readonly action: string;
  readonly object: string;
  readonly name: string;
  readonly before: object | null;
  readonly after: object | null;
}

/** Rows that are read at once. */
const pageSize = 1_000;

export function monitoringCommands(withDatabase: WithDatabase): Command {
  const monitoring = new Command('monitoring').description('monitored domains of accounts');
  monitoring
    .command('limit')
    .description('set how many monitored domains an account may have; those over it stay')
    .argument('<account>')
    .argument('<count>', '0 to 1000000', integer(0, 1_000_000))
    .action(async (account: string, max: number) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        await new Transactions(database).run(async (tx) => {
          const [before] = await tx.query<{ max: number }[]>(
            `SELECT max_monitored_domains AS max FROM account WHERE id = $1 FOR NO KEY UPDATE`,
            [accountId],
          );
          if (before === undefined || before.max === max) return;
          await tx.query(`UPDATE account SET max_monitored_domains = $2 WHERE id = $1`, [accountId, max]);
          const values = { before: { monitored_domains: before.max }, after: { monitored_domains: max } };
          const operator = { accountId, apiKeyId: null };
          await recordChange(tx, { ...operator, object: 'limit', name: '', action: 'changed', ...values });
        });
        console.log(`account ${accountId}: ${max} monitored domains`);
      });
    });
  monitoring
    .command('history <account>')
    .description(
      'show who changed monitored domains, known keys and certificates, and settings; oldest first',
    )
    .action(async (account: string) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        let after = '0';
        for (;;) {
          const rows = await database.query<(ChangeRow & { readonly id: string })[]>(
            `SELECT id, changed_at, api_key_id, action, object, name, before, after FROM monitoring_change
             WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
            [accountId, after, pageSize],
          );
          for (const row of rows) console.log(lineOf(row));
          const last = rows.at(-1);
          if (last === undefined || rows.length < pageSize) return;
          after = last.id;
        }
      });
    });
  return monitoring;
}

function lineOf({ changed_at, api_key_id, action, object, name, before, after }: ChangeRow): string {
  return [
    `${changed_at.toISOString().slice(0, 19)}Z`,
    api_key_id === null ? 'operator' : `key ${api_key_id}`,
    [action, object, name].join(' ').trimEnd(),
    ...(before === null ? [] : [`before ${JSON.stringify(before)}`]),
    ...(after === null ? [] : [`after ${JSON.stringify(after)}`]),
  ].join('\t');
}
