import { LeaseLost, leases } from '@certwright/postgres';
import type { IssuanceError, IssuanceState, NameApproval } from '@certwright/issuance';
import { toStoredApproval, toStoredIssuanceError } from '@certwright/outcome-messages';
import type { TracedRow } from '@certwright/jobs';
import { isTracing } from '@certwright/tracing';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
  baseNameInSql,
  isAdvanced,
  issuancesAreHeld,
  isToCollect,
  JointWork,
  type Lease,
  tracedColumns,
  Transactions,
  type Tx,
  underLease,
} from '@certwright/core-schema';
import type { LeasedWork } from './leased-work';
import { type LeaseRow, leasedWork } from './lease-row';

/** Changes of a step; omitted fields keep their value. */
export interface IssuanceProgress {
  /** Ends it; one that was closed before keeps its state. */
  readonly state?: IssuanceState;
  readonly approvals?: readonly NameApproval[];
  readonly caReference?: string | null;
  readonly failures?: number;
  readonly lastError?: IssuanceError | null;
  readonly dueAt?: Date;
  /** Names of CAs that are down; not empty. */
  readonly waitsFor?: readonly string[];
}

export interface DueIssuance extends TracedRow {
  readonly id: string;
  readonly accountId: string;
  readonly leaseToken: string;
  /** Seconds since its time came. */
  readonly overdueS: number;
}

@Injectable()
export class LeasedIssuances {
  private readonly leasing: JointWork<Leasing, LeasedWork | null>;

  constructor(private readonly database: DataSource) {
    this.leasing = new JointWork(new Transactions(database), {
      alone: async (leasing) => await leaseIn(database, leasing),
      inTransaction: leaseIn,
    });
  }

  /** @returns null when it is not due, not open any more, or in other hands */
  async lease(issuanceId: string, leaseMs: number): Promise<LeasedWork | null> {
    return await this.leasing.run({ issuanceId, leaseMs });
  }

  /**
   * Writes the changes of a step.
   *
   * @param after keep the lease for the next step (and extend it), or release it
   * @throws LeaseLost
   */
  async save(
    lease: Lease,
    progress: IssuanceProgress,
    after: { keepForMs: number } | 'release',
  ): Promise<void> {
    await saveProgress(this.database, lease, progress, after);
  }

  /**
   * Open issuances that are due and not leased, for example after a lost wake-up. Oldest first; when there are more
   * than `limit`, every account gets a share, so that the backlog of one account does not delay the others. Before them
   * a few closed ones with a certificate that is still to be collected. None while issuances are held.
   */
  async due(limit: number): Promise<readonly DueIssuance[]> {
    const closed: readonly DueIssuance[] = await this.database.query(
      `SELECT ${dueColumns()} FROM issuance
       WHERE ${isToCollect} AND due_at <= now() AND ${leases.isFree()} AND NOT ${issuancesAreHeld} LIMIT $1`,
      [Math.min(limit, maxClosed)],
    );
    return [...closed, ...(await this.openAndDue(limit - closed.length))];
  }

  private async openAndDue(limit: number): Promise<readonly DueIssuance[]> {
    const oldest: readonly DueIssuance[] = await this.database.query(
      `SELECT ${dueColumns()} FROM issuance WHERE ${dueAndFree} AND NOT ${issuancesAreHeld}
       ORDER BY due_at, id LIMIT $1`,
      [limit],
    );
    if (oldest.length < limit) return oldest;
    const shares: readonly DueIssuance[] = await this.database.query(sharedStatement(), [limit]);
    // Unused shares go to the issuances that have waited longest.
    const shared = new Set(shares.map(({ id }) => id));
    return [...shares, ...oldest.filter(({ id }) => !shared.has(id))].slice(0, limit);
  }
}

/** So that many of one account do not delay open issuances of others. */
const maxClosed = 8;

interface Leasing {
  readonly issuanceId: string;
  readonly leaseMs: number;
}

async function leaseIn(
  database: Pick<Tx, 'query'>,
  { issuanceId, leaseMs }: Leasing,
): Promise<LeasedWork | null> {
  const [row] = await database.query<[LeaseRow?]>(leaseStatement, [issuanceId, leaseMs]);
  return row === undefined ? null : leasedWork(row);
}

/** @throws LeaseLost */
export async function saveProgress(
  database: Pick<Tx, 'query'>,
  lease: Lease,
  progress: IssuanceProgress,
  after: { keepForMs: number } | 'release',
): Promise<void> {
  const json = (value: unknown) => (value === undefined || value === null ? null : JSON.stringify(value));
  const [, changed] = await database.query<[unknown, number]>(saveStatement, [
    lease.issuanceId,
    lease.token,
    progress.state ?? null,
    json(progress.approvals?.map(toStoredApproval)),
    progress.caReference !== undefined,
    progress.caReference ?? null,
    progress.failures ?? null,
    progress.lastError !== undefined,
    json(progress.lastError && toStoredIssuanceError(progress.lastError)),
    progress.dueAt ?? null,
    after === 'release' ? null : after.keepForMs,
    progress.waitsFor ?? null,
  ]);
  if (changed === 0) throw new LeaseLost('issuance', lease.issuanceId, lease.token);
}

const dueColumns = () => `
  id, account_id AS "accountId", lease_token AS "leaseToken",
  extract(epoch FROM clock_timestamp() - due_at)::int AS "overdueS"
  ${tracedColumns('opened_at')}`;

/** now() and not clock_timestamp(): the index needs a bound that is constant within the statement. */
const dueAndFree = `
  state = 'open' AND due_at <= now() AND (leased_until IS NULL OR leased_until <= now())`;

/**
 * Goes from account to account in the index, and reads from each an equal share of the limit, but at least 8; then
 * returns the first of every account, the second of every account … Reads accounts × share rows, whatever the size of
 * the backlog. BETWEEN instead of =: otherwise PostgreSQL would read all due rows in order of time and filter by
 * account.
 */
const sharedStatement = () => `
  WITH RECURSIVE waiting (account_id) AS (
    (SELECT account_id FROM issuance WHERE state = 'open' AND due_at <= now() ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT next.account_id FROM waiting CROSS JOIN LATERAL (
      SELECT account_id FROM issuance
      WHERE state = 'open' AND due_at <= now() AND issuance.account_id > waiting.account_id
      ORDER BY account_id LIMIT 1) AS next),
  share (of_account) AS (SELECT greatest(8, $1::int / count(*)) FROM waiting)
  SELECT id, "accountId", "leaseToken", "overdueS" ${isTracing() ? ', traceparent, "ageS"' : ''}
  FROM waiting CROSS JOIN share CROSS JOIN LATERAL (
    SELECT ${dueColumns()}, row_number() OVER (ORDER BY account_id, due_at) AS turn FROM issuance
    WHERE issuance.account_id BETWEEN waiting.account_id AND waiting.account_id AND ${dueAndFree}
    ORDER BY account_id, due_at LIMIT of_account) AS due
  ORDER BY turn, "overdueS" DESC LIMIT $1`;

const saveStatement = `
  UPDATE issuance SET
    state = CASE WHEN state = 'open' THEN coalesce($3, state) ELSE state END,
    closed_at = CASE WHEN coalesce($3, 'open') = 'open' THEN closed_at ELSE clock_timestamp() END,
    approvals = coalesce($4::jsonb, approvals),
    ca_reference = CASE WHEN $5::boolean THEN $6 ELSE ca_reference END,
    failures = coalesce($7::int, failures),
    last_error = CASE WHEN $8::boolean THEN $9::jsonb ELSE last_error END,
    due_at = CASE WHEN hastened /* language: column */ THEN clock_timestamp()
      ELSE coalesce($10::timestamptz, due_at) END,
    waits_for = coalesce($12::text[], waits_for),
    ${leases.extend('$11')}
  WHERE ${underLease('$1', '$2')}`;

/**
 * The integration: ordered, so that PostgreSQL uses the index regardless of its row estimate per account. With EXISTS it
 * scanned the table when few accounts had most of the integrations. The labels: LATERAL with LIMIT, so that it looks up
 * each name. With a join it read all names of the account.
 */
const leaseStatement = `
  WITH leased AS (
    UPDATE issuance SET
      hastened = false, /* language: column */
      waits_for = NULL,
      ${leases.take('$2')}
    WHERE id = (
      SELECT id FROM issuance
      WHERE id = $1 AND ${isAdvanced} AND due_at <= clock_timestamp()
        AND ${leases.isFree()} AND NOT ${issuancesAreHeld}
      FOR UPDATE SKIP LOCKED)
    RETURNING *)
  SELECT to_jsonb(leased) AS issuance,
    leased.opened_at, leased.due_at, leased.expires_by, clock_timestamp() AS now,
    plan.paused, plan.closed_at,
    terms.dns_names, terms.key_type, terms.csr, terms.spki_sha256, terms.approver_emails, terms.approval_ways,
    to_jsonb(sold) AS product,
    EXISTS (SELECT 1 FROM blocked_key WHERE blocked_key.spki_sha256 = terms.spki_sha256
      AND blocked_key.account_id IN (0, leased.account_id)) AS key_blocked,
    (SELECT max(not_after) FROM certificate
     WHERE certificate.plan_id = leased.plan_id AND is_current AND revoked_at IS NULL) AS valid_until,
    (SELECT jsonb_object_agg(known.dns_name, known.label)
     FROM (SELECT ${baseNameInSql('name')} AS dns_name FROM unnest(terms.dns_names) AS name
       UNION ALL
       SELECT jsonb_path_query(leased.approvals, '$[*].way.recordAt') #>> '{}') AS needed
     CROSS JOIN LATERAL (
       SELECT dns_name, label FROM delegation
       WHERE delegation.account_id = leased.account_id AND delegation.dns_name = needed.dns_name LIMIT 1) AS known
    ) AS delegation_labels,
    coalesce(leased.account_id = (
      SELECT account_id FROM dns_integration WHERE dns_integration.account_id >= leased.account_id
      ORDER BY account_id LIMIT 1), false) AS has_integrations
  FROM leased
  JOIN plan ON plan.id = leased.plan_id
  JOIN terms ON terms.id = leased.terms_id
  JOIN product AS sold ON sold.name = terms.product`;
