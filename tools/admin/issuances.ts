import { IssuanceWakeUps } from '@certwright/approvals';
import { Outbox, Transactions } from '@certwright/core-schema';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import type { WithDatabase } from './with-database';

interface RetryOptions {
  readonly account?: string;
  readonly plan?: string;
  readonly all?: boolean;
}

/** Plans of one transaction. */
const batch = 500;

export function issuanceCommands(withDatabase: WithDatabase): Command {
  const issuance = new Command('issuance').description('attempts to obtain certificates');
  issuance
    .command('retry [id]')
    .description(
      'start an attempt at open issuances now, however often they have failed: one by its id, those of a plan or an ' +
        'account, or all. Issuances that wait for a CA that is down continue to wait',
    )
    .option('--plan <id>', 'the open issuance of this plan')
    .option('--account <id>', 'every open issuance of this account')
    .option('--all', 'every open issuance')
    .action(async (id: string | undefined, options: RetryOptions) => {
      await withDatabase(async (database) => {
        const planIds = await plansOf(database, id, options);
        const wakeUps = new IssuanceWakeUps(database, new Outbox(database));
        for (let start = 0; start < planIds.length; start += batch) {
          await new Transactions(database).run(async (tx) => {
            for (const planId of planIds.slice(start, start + batch)) await wakeUps.wakePlan(tx, planId);
          });
        }
        console.log(`${planIds.length} open; each is attempted within seconds`);
      });
    });
  issuance
    .command('waiting')
    .description('list the CAs that are down: start of the outage, next probe, waiting issuances, and reason')
    .action(async () => {
      await withDatabase(async (database) => {
        for (const row of await waitingFor(database)) console.log(row.join('\t'));
      });
    });
  return issuance;
}

async function plansOf(
  database: DataSource,
  id: string | undefined,
  { account, plan, all = false }: RetryOptions,
): Promise<readonly string[]> {
  if ([id, account, plan, all ? 'all' : undefined].filter((given) => given !== undefined).length !== 1)
    throw new Error('Give exactly one of: an id, --plan, --account, --all.');
  for (const given of [id, plan])
    if (given !== undefined && !/^[1-9]\d{0,17}$/.test(given))
      throw new Error(`"${given}" is not an id: expected digits.`);
  const accountId = account === undefined ? null : await existingAccount(database, account);
  const rows = await database.query<{ plan_id: string }[]>(
    `SELECT plan_id FROM issuance WHERE state = 'open'
       AND ($1::bigint IS NULL OR id = $1) AND ($2::bigint IS NULL OR plan_id = $2)
       AND ($3::bigint IS NULL OR account_id = $3) ORDER BY opened_at, id`,
    [id ?? null, plan ?? null, accountId],
  );
  if (rows.length === 0 && !all) throw new Error('There is no such open issuance.');
  return rows.map(({ plan_id }) => plan_id);
}

async function waitingFor(database: DataSource): Promise<readonly (readonly string[])[]> {
  const rows = await database.query<
    { name: string; down_since: Date; down_until: Date | null; waiting: string; problem: string | null }[]
  >(
    `SELECT name, down_since, down_until, problem, (
       SELECT count(*) FROM issuance
       WHERE state = 'open' AND waits_for IS NOT NULL AND waits_for @> ARRAY[authority.name]) AS waiting
     FROM certificate_authority AS authority WHERE down_since IS NOT NULL ORDER BY name`,
  );
  return rows.map(({ name, down_since, down_until, waiting, problem }) => [
    name,
    down_since.toISOString(),
    down_until?.toISOString() ?? '-',
    `${waiting} waiting`,
    problem ?? '-',
  ]);
}
