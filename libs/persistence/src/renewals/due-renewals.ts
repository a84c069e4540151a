import type { RenewalFacts } from '@certwright/issuance';
import type { Tx } from '../transactions/transactions';

export interface DueRenewal {
  readonly planId: string;
  readonly accountId: string;
  readonly termsId: string | null;
  readonly revision: number;
  readonly dnsNames: readonly string[];
  /** The current certificate; null when there is none. */
  readonly certificateId: string | null;
  readonly facts: RenewalFacts;
  readonly now: Date;
}

const isDue = `
  plan.auto_renew AND NOT plan.paused AND plan.closed_at IS NULL
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

interface DueRow {
  readonly id: string;
  readonly account_id: string;
  readonly terms_id: string | null;
  readonly revision: number;
  readonly dns_names: string[] | null;
  readonly opened_at: Date | null;
  readonly certificate_id: string | null;
  readonly not_after: Date | null;
  readonly replaced: boolean;
  readonly failures: number;
  readonly failed_at: Date | null;
  readonly now: Date;
}

/** What deciding takes; the caller holds the plans. */
export async function dueRenewals(
  tx: Tx,
  planIds: readonly string[],
  now: Date | null,
): Promise<readonly DueRenewal[]> {
  const rows = await tx.query<DueRow[]>(factsStatement, [planIds, now]);
  return rows.map(dueRenewal);
}

/**
 * An attempt that was ended by a pause or by newer terms is no failure. All issuances of a plan are read, by its index:
 * asked for the open ones alone, PostgreSQL may go through those of all plans instead.
 */
const factsStatement = `
  SELECT plan.id, plan.account_id, plan.terms_id, plan.revision, terms.dns_names, clock.now,
    certificate.id AS certificate_id, certificate.not_after,
    attempts.opened_at, coalesce(attempts.replaced, false) AS replaced, attempts.failures, attempts.failed_at
  FROM (SELECT coalesce($2::timestamptz, clock_timestamp()) AS now) AS clock
  CROSS JOIN plan
  LEFT JOIN terms ON terms.id = plan.terms_id
  LEFT JOIN certificate ON certificate.plan_id = plan.id AND certificate.is_current
    AND certificate.revoked_at IS NULL AND certificate.not_after >= clock.now
  CROSS JOIN LATERAL (
    SELECT max(opened_at) FILTER (WHERE state = 'open') AS opened_at,
      bool_or(state = 'issued') FILTER (WHERE replaces) AS replaced,
      (count(*) FILTER (WHERE replaces AND failed))::int AS failures,
      max(closed_at) FILTER (WHERE replaces AND failed) AS failed_at
    FROM (
      SELECT state, opened_at, closed_at, coalesce(replaces_certificate_id = certificate.id, false) AS replaces,
        state = 'failed' OR (state = 'canceled' AND last_error IS NOT NULL) AS failed
      FROM issuance WHERE issuance.plan_id = plan.id) AS issuance) AS attempts
  WHERE plan.id = ANY($1::bigint[])`;

function dueRenewal(row: DueRow): DueRenewal {
  return {
    planId: row.id,
    accountId: row.account_id,
    termsId: row.terms_id,
    revision: row.revision,
    dnsNames: row.dns_names ?? [],
    certificateId: row.certificate_id,
    facts: {
      termsId: row.terms_id,
      open: row.opened_at === null ? null : { openedAt: row.opened_at },
      current: row.not_after === null ? null : { notAfter: row.not_after },
      replacement: { issued: row.replaced, failures: row.failures, failedAt: row.failed_at },
    },
    now: row.now,
  };
}
