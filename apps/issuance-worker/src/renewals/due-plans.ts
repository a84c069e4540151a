import type { Tx } from '@certwright/core-schema';

const isDue = `
  (plan.auto_renew OR plan.replacement_paid) AND NOT plan.paused AND plan.closed_at IS NULL
  AND plan.renew_at <= coalesce($2::timestamptz, now())`;

const oldest = `
  SELECT id FROM plan WHERE ${isDue} ORDER BY renew_at LIMIT $1 FOR UPDATE SKIP LOCKED`;

/** From account to account in the index, an equal share of each but at least 8: see `LeasedIssuances.due`. */
const shared = `
  WITH RECURSIVE waiting (account_id) AS (
    (SELECT account_id FROM plan WHERE ${isDue} ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT next.account_id FROM waiting CROSS JOIN LATERAL (
      SELECT account_id FROM plan WHERE ${isDue} AND plan.account_id > waiting.account_id
      ORDER BY account_id LIMIT 1) AS next),
  share (of_account) AS (SELECT greatest(8, $1::int / count(*)) FROM waiting),
  turns AS (
    SELECT due.id FROM waiting CROSS JOIN share CROSS JOIN LATERAL (
      SELECT plan.id, renew_at, row_number() OVER (ORDER BY account_id, renew_at) AS turn FROM plan
      WHERE plan.account_id BETWEEN waiting.account_id AND waiting.account_id AND ${isDue}
      ORDER BY account_id, renew_at LIMIT of_account) AS due
    ORDER BY turn, renew_at LIMIT $1)
  SELECT id FROM plan WHERE id IN (SELECT id FROM turns) AND ${isDue} FOR UPDATE SKIP LOCKED`;

/**
 * Holds plans whose renewal time has come: the oldest; when there are more than `limit`, every account gets its share.
 * Rows that others hold are left to the next round.
 */
export async function lockDuePlans(tx: Tx, limit: number, now: Date | null): Promise<string[]> {
  const first = await tx.query<{ id: string }[]>(oldest, [limit, now]);
  const shares = first.length < limit ? [] : await tx.query<{ id: string }[]>(shared, [limit, now]);
  // What others leave of their shares goes to whoever is due longest.
  return [...new Set([...shares, ...first].map(({ id }) => id))].slice(0, limit);
}
