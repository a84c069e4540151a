import type { Outcome } from '@certwright/issuance';
import { IssuanceWakeUps } from '@certwright/approvals';
import { findHold, issuancesAreHeld, Outbox, Transactions } from '@certwright/core-schema';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import { reconcile } from './reconcile';
import { problemText } from './stored-problem';
import { withCtDatabase, type WithDatabase } from './with-database';

interface RetryOptions {
  readonly account?: string;
  readonly plan?: string;
  readonly all?: boolean;
}

/** Plans of one transaction. */
const batch = 500;

interface ReconcileArguments {
  readonly certificates: readonly string[];
  readonly revocationList: readonly string[];
  readonly index: boolean;
  readonly dryRun?: boolean;
}

const collect = (value: string, earlier: readonly string[]) => [...earlier, value];

/** @param withIndex the ct database */
export function issuanceCommands(
  withDatabase: WithDatabase,
  withIndex: WithDatabase = withCtDatabase,
): Command {
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
        const [{ held }] = await database.query<[{ held: boolean }]>(`SELECT ${issuancesAreHeld} AS held`);
        const attempted = 'each is attempted within seconds';
        console.log(
          held
            ? `${planIds.length} open, and held: ${attempted} after "issuance release"`
            : `${planIds.length} open; ${attempted}`,
        );
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
  issuance.addCommand(holdCommand(withDatabase));
  issuance.addCommand(releaseCommand(withDatabase));
  issuance.addCommand(reconcileCommand(withDatabase, withIndex));
  return issuance;
}

function holdCommand(withDatabase: WithDatabase): Command {
  return new Command('hold')
    .description(
      'stop advancing issuances until "release": run it on a restored database before any process starts. A step that has ' +
        'begun ends; orders are accepted and wait',
    )
    .requiredOption('--reason <text>', 'shown in logs and by "release"')
    .action(async ({ reason }: { reason: string }) => {
      await withDatabase(async (database) => {
        const [, changed] = await database.query<[unknown, number]>(
          `UPDATE deployment SET held_since = coalesce(held_since, clock_timestamp()), hold_reason = $1`,
          [reason],
        );
        if (changed === 0)
          throw new Error('The database belongs to no deployment yet: there is nothing to hold.');
        console.log('issuances are held');
      });
    });
}

function releaseCommand(withDatabase: WithDatabase): Command {
  return new Command('release').description('advance issuances again').action(async () => {
    await withDatabase(async (database) => {
      const hold = await findHold(database);
      if (hold === null) {
        console.log('issuances were not held');
        return;
      }
      await database.query(`UPDATE deployment SET held_since = NULL, hold_reason = NULL`);
      console.log(`released; held since ${hold.since.toISOString()} (${hold.reason ?? 'no reason'})`);
    });
  });
}

function reconcileCommand(withDatabase: WithDatabase, withIndex: WithDatabase): Command {
  return new Command('reconcile')
    .description(
      'after a restoration, find certificates that were issued but are not stored, in the index and in files, and record those ' +
        'of the built-in CA for their issuances, which then get the same certificate. Issuances must be held. Can be repeated',
    )
    .option(
      '--certificates <file>',
      'PEM file with certificates of the built-in CA; can be repeated',
      collect,
      [],
    )
    .option(
      '--revocation-list <file>',
      'newest published list of an intermediate: its entries are revoked again; can be repeated',
      collect,
      [],
    )
    .option('--no-index', 'do not search the ct database')
    .option('--dry-run', 'change nothing')
    .action(async ({ certificates, revocationList, index, dryRun = false }: ReconcileArguments) => {
      await withDatabase(async (database) => {
        const options = { certificates, revocationLists: revocationList, useIndex: index, dryRun };
        const { found, recorded, withoutOrder, ofOtherCas, revoked } = await reconcile(
          database,
          withIndex,
          options,
        );
        for (const line of withoutOrder) console.log(`without order\t${line}`);
        for (const line of ofOtherCas) console.log(`of another CA\t${line}`);
        console.log(
          `${found} certificates of the built-in CA were missing: ${recorded} recorded for their issuances, ` +
            `${withoutOrder.length} without order; ${ofOtherCas.length} of other CAs; ${revoked} revoked again` +
            (dryRun ? ' (dry run: nothing was changed)' : ''),
        );
      });
    });
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
    {
      name: string;
      down_since: Date;
      down_until: Date | null;
      waiting: string;
      problem: string | null;
      outcome: Outcome | null;
    }[]
  >(
    `SELECT name, down_since, down_until, problem, outcome, (
       SELECT count(*) FROM issuance
       WHERE state = 'open' AND waits_for IS NOT NULL AND waits_for @> ARRAY[authority.name]) AS waiting
     FROM certificate_authority AS authority WHERE down_since IS NOT NULL ORDER BY name`,
  );
  return rows.map(({ name, down_since, down_until, waiting, problem, outcome }) => [
    name,
    down_since.toISOString(),
    down_until?.toISOString() ?? '-',
    `${waiting} waiting`,
    problem === null ? '-' : problemText(problem, outcome),
  ]);
}
