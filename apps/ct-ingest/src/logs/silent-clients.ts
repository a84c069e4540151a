import type { EntityManager } from 'typeorm';

/**
 * Ends sessions with the caller's application name that have waited for their client within one statement: for the rows of a COPY
 * that do not arrive, or with a result that is not read. No timeout of PostgreSQL covers that, and a frozen process
 * would hold the sequencer, or a lane of mergers, indefinitely.
 *
 * @param silentMs longer than any statement may take
 * @returns number of ended sessions
 */
export async function endSilentClients(
  database: Pick<EntityManager, 'query'>,
  silentMs: number,
): Promise<number> {
  const [{ ended }] = await database.query<[{ ended: number }]>(
    `SELECT (count(*) FILTER (WHERE pg_terminate_backend(pid)))::int AS ended FROM pg_stat_activity
     WHERE datname = current_database() AND usename = current_user
       AND application_name = current_setting('application_name')
       AND state = 'active' AND wait_event_type = 'Client' AND query_start < now() - $1 * interval '1 ms'`,
    [silentMs],
  );
  return ended;
}
