/** What of a finding is due. */
type DueColumn = 'alert_due_at' | 'classify_at';

/**
 * `due (account_id, tbs_sha256, due_at)`: the oldest due findings of accounts in turn. $1: max findings, $2: the account before
 * the first one. Accounts are found one by one in the index of the column: however many findings of one are due, that is one
 * step. No more accounts are visited than findings are returned. Only that index has this order, so that PostgreSQL does not
 * choose another one, in which it would read all findings.
 */
export const dueInTurn = (column: DueColumn): string => `
  WITH RECURSIVE accounts AS (
    (SELECT account_id, 1 AS visited FROM monitoring_finding
     WHERE ${column} <= now() AND account_id > $2::bigint ORDER BY account_id, ${column} LIMIT 1)
    UNION ALL
    SELECT next.account_id, visited + 1 FROM accounts CROSS JOIN LATERAL (
      SELECT account_id FROM monitoring_finding
      WHERE ${column} <= now() AND account_id > accounts.account_id ORDER BY account_id, ${column} LIMIT 1) AS next
    WHERE visited < $1::int),
  shares AS (SELECT account_id, $1::int / count(*) OVER () AS share FROM accounts),
  due AS (
    SELECT oldest.* FROM shares CROSS JOIN LATERAL (
      SELECT account_id, tbs_sha256, ${column} AS due_at FROM monitoring_finding
      WHERE account_id = shares.account_id AND ${column} <= now() ORDER BY ${column} LIMIT shares.share) AS oldest)`;

/** Serves accounts in turn, so that one with many findings does not delay the others. */
export class AccountTurns {
  /** The account whose turn was last; '0': all of them had theirs. */
  private last = '0';

  /** @param read the next of at most `limit` accounts after this one, ordered by account, each with at least one row */
  async next<Row extends { readonly account: string }>(
    limit: number,
    read: (after: string) => Promise<readonly Row[]>,
  ): Promise<readonly Row[]> {
    const isFirst = this.last === '0';
    const rows = await read(this.last);
    const accounts = new Set(rows.map(({ account }) => account));
    this.last = accounts.size < limit ? '0' : (rows.at(-1)?.account ?? '0');
    return rows.length > 0 || isFirst ? rows : await this.next(limit, read);
  }
}
