import { Transactions, type Tx } from '@certwright/core-schema';
import { MonitoredDomainIndex } from '@certwright/monitored-domains';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config';
import { databaseTime } from '../findings/finding-accounts';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { type Intervals, regularCheck } from './schedule';

export interface EndpointId {
  readonly account: string;
  readonly dnsName: string;
}

/** An endpoint that is being checked. */
export interface ClaimedEndpoint extends EndpointId {
  readonly ports: readonly number[];
  /** Its `check_due_at`: when it is checked again if the process stops. */
  readonly claimedUntil: Date;
}

/** Longer than a look and storing its result, ms. */
const claimMs = 120_000;

/** Accounts whose endpoints of one name are checked by one look; the next look is for the others. */
const maxOfName = 100;

@Injectable()
export class DueEndpoints {
  /** The account that was the last one to have its turn. */
  private after = '0';

  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    @Inject(Config) private readonly intervals: Intervals,
  ) {}

  /** By the clock of the database: that of this process may be off by hours. */
  async now(): Promise<Date> {
    return (await databaseTime(this.database)).now;
  }

  /**
   * Claims endpoints that are due: those of some names, of all accounts. Each account has its turn. Endpoints that are not
   * checked, because their account is disabled or monitors them no more, are due again after the usual time.
   *
   * @param maxNames at least one
   */
  async claim(lease: TaskLease, maxNames: number, now: Date): Promise<readonly ClaimedEndpoint[]> {
    // Outside the transaction, since usually nothing is due; the claim checks again that each endpoint is due.
    const due = await this.database.query<EndpointId[]>(dueStatement, [maxNames, now, this.after]);
    if (due.length === 0) return [];
    const until = new Date(now.getTime() + claimMs);
    const names = [...new Set(due.map(({ dnsName }) => dnsName))];
    const claimed = await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      const [rows] = await tx.query<[Omit<ClaimedEndpoint, 'claimedUntil'>[], number]>(claimStatement, [
        names,
        now,
        maxOfName,
        until,
      ]);
      const unchecked = await this.postpone(tx, rows, now);
      return rows.filter((row) => !unchecked.has(keyOf(row)));
    });
    this.after = due.at(-1)?.account ?? this.after;
    return claimed.map((row) => ({ ...row, claimedUntil: until }));
  }

  /** @returns keys of those that are not checked */
  private async postpone(tx: Tx, rows: readonly EndpointId[], now: Date): Promise<ReadonlySet<string>> {
    const accounts = [...new Set(rows.map(({ account }) => account))];
    const disabled = await tx.query<{ id: string }[]>(
      `SELECT id FROM account WHERE id = ANY ($1::bigint[]) AND disabled_at IS NOT NULL`,
      [accounts],
    );
    const isDisabled = new Set(disabled.map(({ id }) => id));
    const monitored = await monitoredOf(tx, rows);
    const postponed = rows.filter((row) => isDisabled.has(row.account) || !monitored.has(keyOf(row)));
    if (postponed.length === 0) return new Set();
    await tx.query(postponeStatement, [
      postponed.map(({ account }) => account),
      postponed.map(({ dnsName }) => dnsName),
      postponed.map(() => regularCheck(now, this.intervals, Math.random())),
      postponed.map((row) => !monitored.has(keyOf(row))),
      now,
    ]);
    return new Set(postponed.map(keyOf));
  }
}

export const keyOf = ({ account, dnsName }: EndpointId): string => `${account}:${dnsName}`;

/** The keys of those for which an enabled monitored domain of their account decides, by the rule for certificates. */
export async function monitoredOf(
  reader: Pick<Tx, 'query'>,
  endpoints: readonly EndpointId[],
): Promise<ReadonlySet<string>> {
  const candidates = endpoints.flatMap(({ account, dnsName }) =>
    domainsAbove(dnsName).map((name) => ({ account, name })),
  );
  const domains = await reader.query<{ account: string; name: string; enabled: boolean }[]>(
    `SELECT DISTINCT account_id AS account, name, enabled FROM monitored_domain
     WHERE (account_id, name) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))`,
    [candidates.map(({ account }) => account), candidates.map(({ name }) => name)],
  );
  const index = new MonitoredDomainIndex();
  for (const { account, name, enabled } of domains) index.set(account, name, enabled);
  const accountsOf = new Map<string, ReadonlySet<string>>();
  for (const { dnsName } of endpoints)
    if (!accountsOf.has(dnsName))
      accountsOf.set(dnsName, new Set(index.match([dnsName]).accounts.map(({ account }) => account)));
  return new Set(
    endpoints.filter(({ account, dnsName }) => accountsOf.get(dnsName)?.has(account)).map(keyOf),
  );
}

/** Every monitored domain that concerns a name. */
function domainsAbove(dnsName: string): readonly string[] {
  const labels = dnsName.split('.');
  return [dnsName, ...labels.map((_, nth) => `.${labels.slice(nth).join('.')}`)];
}

/**
 * $1: max names, $2: now, $3: the account before the next turn. Accounts are found one by one in the index: however many
 * endpoints one has, that is one step.
 */
const dueStatement = `
  WITH RECURSIVE accounts AS (
    (SELECT account_id FROM monitored_endpoint
     WHERE EXISTS (SELECT 1 FROM monitored_endpoint WHERE check_due_at <= $2) ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM monitored_endpoint
      WHERE account_id > accounts.account_id ORDER BY account_id LIMIT 1)
    FROM accounts WHERE accounts.account_id IS NOT NULL),
  turns AS (
    SELECT account_id, account_id <= $3::bigint AS had_turn FROM accounts
    WHERE account_id IS NOT NULL AND EXISTS (
      SELECT 1 FROM monitored_endpoint WHERE account_id = accounts.account_id AND check_due_at <= $2)
    ORDER BY had_turn, account_id LIMIT $1::int),
  shares AS (SELECT *, greatest(1, $1::int / count(*) OVER ())::int AS share FROM turns)
  SELECT account_id AS account, dns_name AS "dnsName" FROM shares CROSS JOIN LATERAL (
    SELECT dns_name FROM monitored_endpoint
    WHERE account_id = shares.account_id AND check_due_at <= $2 ORDER BY check_due_at LIMIT shares.share) AS oldest
  ORDER BY had_turn, account_id`;

/** $1: names, $2: now, $3: max of one name, $4: claimed until. Those that are not due stay as they are. */
const claimStatement = `
  WITH due AS MATERIALIZED (
    SELECT found.account_id, found.dns_name FROM unnest($1::text[]) AS chosen (name) CROSS JOIN LATERAL (
      SELECT account_id, dns_name FROM monitored_endpoint
      WHERE dns_name = chosen.name AND check_due_at <= $2
      ORDER BY check_due_at LIMIT $3 FOR UPDATE SKIP LOCKED) AS found)
  UPDATE monitored_endpoint AS endpoint SET check_due_at = $4
  FROM due WHERE endpoint.account_id = due.account_id AND endpoint.dns_name = due.dns_name
  RETURNING endpoint.account_id AS account, endpoint.dns_name AS "dnsName", endpoint.ports`;

/**
 * $1 accounts, $2 names, $3 next checks, $4 whether they are no longer monitored, $5 now. What was found of those ends
 * without a report.
 */
const postponeStatement = `
  UPDATE monitored_endpoint AS endpoint SET check_due_at = given.due_at, attempts = 0,
    state = CASE WHEN is_over THEN 'not_checked' ELSE state END,
    state_since = CASE WHEN is_over AND state <> 'not_checked' THEN $5 ELSE state_since END,
    findings = CASE WHEN is_over THEN '[]' ELSE findings END, served = CASE WHEN is_over THEN '[]' ELSE served END,
    looked_at = CASE WHEN is_over THEN NULL ELSE looked_at END,
    served_at = CASE WHEN is_over THEN NULL ELSE served_at END,
    gone_since = CASE WHEN is_over THEN NULL ELSE gone_since END,
    bad_since = CASE WHEN is_over THEN NULL ELSE bad_since END,
    held_since = CASE WHEN is_over THEN NULL ELSE held_since END
  FROM unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::boolean[]) AS given (account_id, dns_name, due_at, is_over)
  WHERE endpoint.account_id = given.account_id AND endpoint.dns_name = given.dns_name`;
