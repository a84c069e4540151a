import { Command } from 'commander';
import type { WithDatabase } from './with-database';

const timeOf = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/** Endpoints with the name of a state are in that state. */
const statusStatement = `
  SELECT (SELECT count(*) FROM monitored_endpoint) AS endpoints, states.*,
    (SELECT count(*) FROM monitored_endpoint WHERE check_due_at <= now()) AS due,
    (SELECT greatest(0, round(extract(epoch FROM now() - min(check_due_at)))) FROM monitored_endpoint) AS due_for_s,
    (SELECT count(*) FROM monitored_endpoint WHERE attempts > 0) AS without_result,
    ${timeOf('hold.began_at')} AS held_since,
    (SELECT count(*) FROM monitored_endpoint WHERE looked_at >= hold.counted_from) AS held_of_checked,
    (SELECT count(*) FROM monitored_endpoint WHERE bad_since >= hold.counted_from) AS held_turned_bad,
    (SELECT count(*) FROM monitored_endpoint WHERE held_since IS NOT NULL) AS reports_held
  FROM (SELECT count(*) FILTER (WHERE state = 'ok') AS ok, count(*) FILTER (WHERE state = 'suspect') AS suspect,
      count(*) FILTER (WHERE state = 'failing') AS failing, count(*) FILTER (WHERE state = 'unreachable') AS unreachable,
      count(*) FILTER (WHERE state = 'gone') AS gone, count(*) FILTER (WHERE state = 'not_checked') AS not_checked
    FROM monitored_endpoint) AS states
  LEFT JOIN endpoint_hold AS hold ON hold.ended_at IS NULL`;

/** `monitoring endpoints`. */
export function endpointCommands(withDatabase: WithDatabase): Command {
  const endpoints = new Command('endpoints')
    .description('show how endpoints are checked, and whether reports about them are held back')
    .action(async () => {
      await withDatabase(async (database) => {
        const [row] = await database.query<[Record<string, string | null>]>(statusStatement);
        for (const [what, value] of Object.entries(row)) console.log(`${what}\t${value ?? '-'}`);
      });
    });
  endpoints
    .command('release')
    .description('report again what the next checks find; what turned bad before does not hold reports back')
    .action(async () => {
      await withDatabase(async (database) => {
        const [, released] = await database.query<[unknown, number]>(
          `UPDATE endpoint_hold SET ended_at = clock_timestamp(), is_released = true WHERE ended_at IS NULL`,
        );
        console.log(released === 0 ? 'no reports are held back' : 'reports are no longer held back');
      });
    });
  return endpoints;
}
