import type { Tx } from '@certwright/core-schema';

/** An account for which findings are recorded, with its limits and counters. */
export interface FindingAccount {
  readonly id: string;
  readonly isDisabled: boolean;
  readonly maxFindings: number;
  /** Findings of this UTC day. */
  found: number;
  /** Certificates of this UTC day that were only counted. */
  throttled: number;
  readonly alertDelayMs: number;
  readonly authorizedCas: readonly string[];
  /** It receives mail about certificates. */
  readonly isMailed: boolean;
  /** It was notified today that the limit was reached. */
  isOverflowReported: boolean;
}

/** By the clock of the database. */
export interface FindingTime {
  readonly now: Date;
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
}

interface AccountRow extends Omit<FindingAccount, 'found' | 'throttled'> {
  readonly foundOn: string | null;
  readonly found: number;
  readonly throttled: number;
  readonly overflowOn: string | null;
}

export async function databaseTime(reader: Pick<Tx, 'query'>): Promise<FindingTime> {
  const [time] = await reader.query<[FindingTime]>(
    `SELECT now, (now AT TIME ZONE 'UTC')::date::text AS day FROM clock_timestamp() AS now`,
  );
  return time;
}

/**
 * Locks the counters of accounts until the end of the transaction, in their order: transactions that record findings of one
 * account follow each other.
 *
 * @returns without accounts that do not exist
 */
export async function lockAccounts(
  tx: Tx,
  ids: readonly string[],
  { day }: FindingTime,
): Promise<ReadonlyMap<string, FindingAccount>> {
  await tx.query(
    `INSERT INTO monitoring_account (account_id)
     SELECT id FROM account WHERE id = ANY ($1::bigint[])
       AND NOT EXISTS (SELECT 1 FROM monitoring_account WHERE account_id = account.id)
     ORDER BY id ON CONFLICT DO NOTHING`,
    [ids],
  );
  const rows = await tx.query<AccountRow[]>(
    `SELECT account.id, account.disabled_at IS NOT NULL AS "isDisabled", max_findings_per_day AS "maxFindings",
       counters.found_on::text AS "foundOn", counters.found, counters.throttled, counters.overflow_on::text AS "overflowOn",
       coalesce(settings.alert_delay_minutes, 0) * 60000 AS "alertDelayMs",
       coalesce(settings.authorized_cas, '{}') AS "authorizedCas",
       coalesce(settings.certificate_mail, 'at_once') <> 'off' AS "isMailed"
     FROM account
     JOIN monitoring_account AS counters ON counters.account_id = account.id
     LEFT JOIN monitoring_settings AS settings ON settings.account_id = account.id
     WHERE account.id = ANY ($1::bigint[]) ORDER BY account.id FOR UPDATE OF counters`,
    [ids],
  );
  return new Map(
    rows.map(({ foundOn, overflowOn, found, throttled, ...account }) => [
      account.id,
      {
        ...account,
        found: foundOn === day ? found : 0,
        throttled: foundOn === day ? throttled : 0,
        isOverflowReported: overflowOn === day,
      },
    ]),
  );
}

/** Stores the counters of locked accounts. */
export async function storeCounters(
  tx: Tx,
  accounts: readonly FindingAccount[],
  { day }: FindingTime,
): Promise<void> {
  await tx.query(
    `UPDATE monitoring_account AS counters
     SET found_on = $1::date, found = given.found, throttled = given.throttled,
       overflow_on = CASE WHEN given.is_overflow_reported THEN $1::date ELSE overflow_on END
     FROM unnest($2::bigint[], $3::int[], $4::int[], $5::boolean[])
       AS given (account_id, found, throttled, is_overflow_reported)
     WHERE counters.account_id = given.account_id`,
    [
      day,
      accounts.map(({ id }) => id),
      accounts.map(({ found }) => found),
      accounts.map(({ throttled }) => throttled),
      accounts.map(({ isOverflowReported }) => isOverflowReported),
    ],
  );
}
