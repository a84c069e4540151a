import { Transactions } from '@certwright/core-schema';
import { Command, Option } from 'commander';
import { recordChange } from '../../apps/monitoring/src/changes/monitoring-changes';
import { existingAccount } from './accounts';
import { endpointCommands } from './monitored-endpoints';
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

/** Columns of `account`. */
const limits = {
  monitored_domains: 'max_monitored_domains',
  endpoints: 'max_monitored_endpoints',
  findings_per_day: 'max_findings_per_day',
} as const;

type StatusRow = Record<string, string | null>;

/** A task without a process has no lease that is valid. */
const statusStatement = `
  SELECT follower.position, to_char(follower.followed_to AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS followed_to,
    round(extract(epoch FROM now() - follower.followed_to)) AS lag_s,
    (SELECT string_agg(task, ' ' ORDER BY task) FROM monitoring_task
     WHERE leased_until IS NULL OR leased_until < now()) AS tasks_without_process,
    (SELECT count(*) FROM monitored_domain WHERE enabled) AS enabled_domains,
    (SELECT count(*) FROM monitoring_backfill WHERE state IN ('waiting', 'running')) AS backfills_open,
    (SELECT count(*) FROM monitoring_finding WHERE alert_due_at IS NOT NULL) AS alerts_waiting,
    (SELECT count(*) FROM monitoring_finding WHERE classify_at IS NOT NULL) AS findings_to_classify,
    (SELECT count(*) FROM monitoring_account WHERE behind_since IS NOT NULL) AS accounts_notified_of_delay,
    (SELECT count(*) FROM monitoring_account
     WHERE throttled > 0 AND found_on = (now() AT TIME ZONE 'UTC')::date) AS accounts_throttled_today
  FROM (SELECT 1) AS one LEFT JOIN monitoring_follower AS follower ON true`;

/** Rows that are read at once. */
const pageSize = 1_000;

export function monitoringCommands(withDatabase: WithDatabase): Command {
  const monitoring = new Command('monitoring').description(
    'monitored domains of accounts, and how far they are matched',
  );
  monitoring
    .command('limit')
    .description('set a limit of an account; what is over it stays')
    .argument('<account>')
    .argument('<count>', '0 to 1000000', integer(0, 1_000_000))
    .addOption(
      new Option('--of <what>', 'what is limited').choices(Object.keys(limits)).default('monitored_domains'),
    )
    .action(async (account: string, max: number, { of }: { of: keyof typeof limits }) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        await new Transactions(database).run(async (tx) => {
          const [before] = await tx.query<{ max: number }[]>(
            `SELECT ${limits[of]} AS max FROM account WHERE id = $1 FOR NO KEY UPDATE`,
            [accountId],
          );
          if (before === undefined || before.max === max) return;
          await tx.query(`UPDATE account SET ${limits[of]} = $2 WHERE id = $1`, [accountId, max]);
          const values = { before: { [of]: before.max }, after: { [of]: max } };
          const operator = { accountId, apiKeyId: null };
          await recordChange(tx, { ...operator, object: 'limit', name: '', action: 'changed', ...values });
        });
        console.log(`account ${accountId}: ${max} ${of.replaceAll('_', ' ')}`);
      });
    });
  monitoring
    .command('status')
    .description('show how far the index is matched, and how much waits; times in seconds')
    .action(async () => {
      await withDatabase(async (database) => {
        const [row] = await database.query<[StatusRow]>(statusStatement);
        for (const [what, value] of Object.entries(row)) console.log(`${what}\t${value ?? '-'}`);
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
  monitoring.addCommand(endpointCommands(withDatabase));
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
