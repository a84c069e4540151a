import { LeaseLost } from '@certwright/postgres';
import {
  type Coverage,
  type IntegrationZone,
  type LiveRecord,
  type Outcome,
  type Placement,
  zoneNamesOver,
} from '@certwright/issuance';
import { keepIntegration } from '@certwright/jobs';
import { storedOutcome } from '@certwright/outcome-messages';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
  type Lease,
  underLease,
  addToOutbox,
  Transactions,
  type Tx,
  checkRequested,
} from '@certwright/core-schema';

type LiveRow = Omit<LiveRecord, 'problem'> & {
  readonly problem: string | null;
  readonly outcome: Outcome | null;
};

/** Approval records as their consumers see them: the current state, and requests for more. */
@Injectable()
export class ApprovalRecords {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /** @param dnsNames without `*.` */
  async coverageOf(accountId: string, planId: string, dnsNames: readonly string[]): Promise<Coverage> {
    const zoneNames = [...new Set(dnsNames.flatMap(zoneNamesOver))];
    const zones: IntegrationZone[] = await this.database.query(
      `SELECT integration_id AS "integrationId", zone.name AS "zoneName", state = 'ok' AS ok,
         created_at AS "createdAt"
       FROM dns_integration_zone AS zone JOIN dns_integration AS integration ON integration.id = integration_id
       WHERE zone.account_id = $1 AND zone.name = ANY ($2::text[]) AND deleted_at IS NULL`,
      [accountId, zoneNames],
    );
    const rows: LiveRow[] = await this.database.query(
      `SELECT ${columns}, EXISTS (
         SELECT 1 FROM approval_record_use WHERE record_id = record.id AND plan_id = $2) AS linked
       FROM approval_record AS record
       WHERE account_id = $1 AND dns_name = ANY ($3::text[]) AND state <> 'removed'`,
      [accountId, planId, dnsNames],
    );
    const records = rows.map(({ problem, outcome, ...record }): [string, LiveRecord] => [
      record.dnsName,
      { ...record, problem: storedOutcome(problem, outcome) },
    ]);
    return { zones, records: new Map(records) };
  }

  /**
   * Records that a plan needs these records, during a step of its issuance. An existing record is shared with this
   * plan and moves when it is placed elsewhere: its handle is only valid in the old place, and adding it again
   * returns a new one.
   *
   * @param targetOf name, without `*.` → where its record points
   * @throws LeaseLost
   */
  async want(
    lease: Lease,
    { accountId, planId }: { readonly accountId: string; readonly planId: string },
    placements: readonly Placement[],
    targetOf: (dnsName: string) => string,
  ): Promise<void> {
    await this.transactions.run(async (tx) => {
      // The order of locks is plan, integration, record (by name), issuance, everywhere.
      await tx.query(`SELECT 1 FROM plan WHERE id = $1 FOR KEY SHARE`, [planId]);
      const wanted: { id: string; integration_id: string }[] = await tx.query(wantStatement, [
        accountId,
        placements.map(({ integrationId }) => integrationId),
        placements.map(({ dnsName }) => dnsName),
        placements.map(({ zoneName }) => zoneName),
        placements.map(({ dnsName }) => targetOf(dnsName)),
      ]);
      await tx.query(
        `INSERT INTO approval_record_use (record_id, plan_id)
         SELECT id, $2::bigint FROM unnest($1::bigint[]) AS record (id) ON CONFLICT DO NOTHING`,
        [wanted.map(({ id }) => id), planId],
      );
      const held: unknown[] = await tx.query(
        `SELECT 1 FROM issuance WHERE ${underLease('$1', '$2')} FOR NO KEY UPDATE`,
        [lease.issuanceId, lease.token],
      );
      if (held.length === 0) throw new LeaseLost('issuance', lease.issuanceId, lease.token);
      await wakeIntegrations(
        tx,
        wanted.map(({ integration_id }) => integration_id),
      );
    });
  }

  /** A standing record was not found where CAs look for it. */
  async doubt(recordId: string): Promise<void> {
    await this.database.query(
      `UPDATE approval_record SET ${checkRequested} WHERE id = $1 AND state = 'standing' AND due_at IS NULL`,
      [recordId],
    );
  }

  /** A name is in no known zone: zone lists older than a minute are refreshed. */
  async requestZones(accountId: string): Promise<void> {
    await this.transactions.run(async (tx) => {
      const [requested] = await tx.query<[{ id: string }[], number]>(
        `UPDATE dns_integration SET zones_due_at = clock_timestamp()
         WHERE account_id = $1 AND deleted_at IS NULL AND failures = 0 AND zones_due_at > clock_timestamp()
           AND (checked_at IS NULL OR checked_at < clock_timestamp() - interval '1 minute')
         RETURNING id`,
        [accountId],
      );
      await wakeIntegrations(
        tx,
        requested.map(({ id }) => id),
      );
    });
  }

  /** Removed a month ago, and shown to callers until then. @returns number of deleted rows, at most `limit` */
  async forgetRemoved(limit: number): Promise<number> {
    const [, forgotten] = await this.database.query<[unknown, number]>(
      `DELETE FROM approval_record WHERE id IN (
         SELECT id FROM approval_record WHERE state = 'removed' AND removed_at < now() - interval '30 days' LIMIT $1)`,
      [limit],
    );
    return forgotten;
  }

  /** @returns seconds that the oldest record has been due, 0 without one; and how many integrations do not work */
  async backlog(): Promise<{ readonly oldestDueS: number; readonly failingIntegrations: number }> {
    const [row] = await this.database.query<[{ oldest: number; failing: number }]>(
      `SELECT greatest(0, coalesce(extract(epoch FROM now() - (
           SELECT min(due_at) FROM approval_record WHERE state <> 'removed')), 0))::float AS oldest,
         (SELECT count(*) FROM dns_integration WHERE state = 'failing' AND deleted_at IS NULL)::int AS failing`,
    );
    return { oldestDueS: row.oldest, failingIntegrations: row.failing };
  }
}

/** Part of the transaction that causes it. */
async function wakeIntegrations(tx: Tx, integrationIds: readonly string[]): Promise<void> {
  if (integrationIds.length === 0) return;
  const rows: { id: string; lease_token: string }[] = await tx.query(
    `SELECT id, lease_token FROM dns_integration WHERE id = ANY ($1::bigint[])`,
    [[...new Set(integrationIds)]],
  );
  for (const { id, lease_token } of rows) await addToOutbox(tx, keepIntegration(id, lease_token));
}

const columns = `
  record.id, record.integration_id AS "integrationId", record.dns_name AS "dnsName", record.zone_name AS "zoneName",
  record.state, record.attempted_at AS "attemptedAt", record.added_at AS "addedAt",
  record.record_handle AS "recordHandle", record.stopped_at AS "stoppedAt", record.problem, record.outcome, record.failures,
  record.due_at AS "dueAt"`;

const moved = `(approval_record.integration_id, approval_record.zone_name)
  IS DISTINCT FROM (excluded.integration_id, excluded.zone_name)`;
const unlessMoved = (column: string, otherwise: string) =>
  `${column} = CASE WHEN ${moved} THEN ${otherwise} ELSE approval_record.${column} END`;

/**
 * $1 account, $2 integrations, $3 names, $4 zones, $5 targets. No rows for an integration that was deleted meanwhile.
 * A record that moves keeps the time of its attempt.
 */
const wantStatement = `
  INSERT INTO approval_record (account_id, integration_id, dns_name, zone_name, target, state, due_at)
  SELECT $1::bigint, wanted.integration_id, wanted.dns_name, wanted.zone_name, wanted.target, 'wanted', clock_timestamp()
  FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[])
    AS wanted (integration_id, dns_name, zone_name, target)
  JOIN dns_integration AS integration ON integration.id = wanted.integration_id
    AND integration.account_id = $1 AND integration.deleted_at IS NULL
  ORDER BY wanted.dns_name
  ON CONFLICT (account_id, dns_name) WHERE state <> 'removed' DO UPDATE SET
    integration_id = excluded.integration_id,
    zone_name = excluded.zone_name,
    ${unlessMoved('state', `'wanted'`)},
    ${unlessMoved('added_at', 'NULL')},
    ${unlessMoved('record_handle', 'NULL')},
    ${unlessMoved('stopped_at', 'NULL')},
    ${unlessMoved('problem', 'NULL')},
    ${unlessMoved('outcome', 'NULL')},
    ${unlessMoved('failures', '0')},
    asks = approval_record.asks + 1, /* language: column */
    due_at = CASE WHEN ${moved} OR approval_record.failures = 0 OR approval_record.due_at IS NULL
      THEN clock_timestamp() ELSE approval_record.due_at END
  RETURNING id, integration_id`;
