import { LeaseLost, leases } from '@certwright/postgres';
import type { ProviderName, Zone } from '@certwright/gateway-contract';
import type { Outcome } from '@certwright/issuance';
import { neutralMessage, storedOutcome } from '@certwright/outcome-messages';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Transactions, type Tx } from '@certwright/core-schema';
import {
  type IntegrationLease,
  type IntegrationProgress,
  type IntegrationState,
  type LeasedIntegration,
  underIntegrationLease,
} from './integration-lease';

export interface DueIntegration {
  readonly id: string;
  readonly accountId: string;
  readonly leaseToken: string;
  /** Seconds since its time came. */
  readonly overdueS: number;
}

interface LeaseRow {
  readonly id: string;
  readonly account_id: string;
  readonly provider: ProviderName;
  readonly handle: string;
  readonly state: IntegrationState;
  readonly problem: string | null;
  readonly outcome: Outcome | null;
  readonly zones_due_at: Date;
  readonly failures: number;
  readonly deleted_at: Date | null;
  readonly lease_token: string;
  readonly now: Date;
}

/** Keep the lease for the next step (and extend it), or release it. */
export type AfterSaving = { readonly keepForMs: number } | 'release';

/** Integrations in the hands of the one process that calls the gateway for them. */
@Injectable()
export class LeasedIntegrations {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /** Deleted ones too, while they have a handle. @returns null when there is none, or it is leased */
  async lease(integrationId: string, leaseMs: number): Promise<LeasedIntegration | null> {
    const [[row]] = await this.database.query<[LeaseRow[], number]>(leaseStatement, [integrationId, leaseMs]);
    return row === undefined ? null : leasedIntegration(row);
  }

  /** @throws LeaseLost */
  async extend(lease: IntegrationLease, leaseMs: number): Promise<void> {
    await saveIntegration(this.database, lease, {}, { keepForMs: leaseMs });
  }

  /** Writes the result of a call. @throws LeaseLost */
  async save(lease: IntegrationLease, progress: IntegrationProgress, after: AfterSaving): Promise<void> {
    await this.transactions.run(async (tx) => await saveIntegration(tx, lease, progress, after));
  }

  /** Also when the lease is lost: then there is nothing to release. */
  async release({ integrationId, token }: IntegrationLease): Promise<void> {
    await this.database.query(
      `UPDATE dns_integration SET ${leases.release} WHERE ${underIntegrationLease('$1', '$2')}`,
      [integrationId, token],
    );
  }

  /**
   * Integrations with a due record or zone list and without a lease. The first of every account, then the second of
   * every account …, so that the backlog of one account does not delay the others.
   */
  async due(limit: number): Promise<readonly DueIntegration[]> {
    return await this.database.query(dueStatement, [limit]);
  }
}

/** As part of a transaction that writes more. @throws LeaseLost */
async function saveIntegration(
  tx: Pick<Tx, 'query'>,
  lease: IntegrationLease,
  progress: IntegrationProgress,
  after: AfterSaving,
): Promise<void> {
  const [[saved]] = await tx.query<[{ account_id: string; deleted_at: Date | null }[], number]>(
    saveStatement,
    [
      lease.integrationId,
      lease.token,
      progress.handle ?? null,
      progress.state ?? null,
      progress.problem !== undefined,
      progress.problem ? neutralMessage(progress.problem) : null,
      progress.failures ?? null,
      progress.checkedAt ?? null,
      progress.zonesDueAt ?? null,
      after === 'release' ? null : after.keepForMs,
      progress.problem ? JSON.stringify(progress.problem) : null,
    ],
  );
  if (saved === undefined) throw new LeaseLost('dns_integration', lease.integrationId, lease.token);
  // An integration that was deleted meanwhile has no zones any more.
  if (progress.zones === undefined || saved.deleted_at !== null) return;
  await replaceZones(tx, lease.integrationId, saved.account_id, progress.zones);
}

/** The caller holds the integration's row. */
export async function replaceZones(
  tx: Pick<Tx, 'query'>,
  integrationId: string,
  accountId: string,
  zones: readonly Zone[],
): Promise<void> {
  const names = zones.map(({ name }) => name);
  await tx.query(
    `DELETE FROM dns_integration_zone AS known WHERE integration_id = $1
       AND NOT EXISTS (SELECT 1 FROM unnest($2::text[]) AS listed (name) WHERE listed.name = known.name COLLATE "C")`,
    [integrationId, names],
  );
  await tx.query(
    `INSERT INTO dns_integration_zone AS known (integration_id, account_id, name, zone_id)
     SELECT DISTINCT ON (name) $1::bigint, $2::bigint, name, id
     FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS listed (name, id, place) ORDER BY name, place
     ON CONFLICT (integration_id, name) DO UPDATE SET zone_id = excluded.zone_id
     WHERE known.zone_id <> excluded.zone_id`,
    [integrationId, accountId, names, zones.map(({ id }) => id)],
  );
}

function leasedIntegration(row: LeaseRow): LeasedIntegration {
  return {
    lease: { integrationId: row.id, token: row.lease_token },
    integration: {
      id: row.id,
      accountId: row.account_id,
      provider: row.provider,
      handle: row.handle,
      state: row.state,
      problem: storedOutcome(row.problem, row.outcome),
      zonesDueAt: row.zones_due_at,
      failures: row.failures,
      deletedAt: row.deleted_at,
    },
    now: row.now,
  };
}

const leaseStatement = `
  UPDATE dns_integration SET
    ${leases.take('$2')}
  WHERE id = (
    SELECT id FROM dns_integration
    WHERE id = $1 AND handle IS NOT NULL AND ${leases.isFree()}
    FOR UPDATE SKIP LOCKED)
  RETURNING id, account_id, provider, handle, state, problem, outcome, zones_due_at, failures, deleted_at, lease_token,
    clock_timestamp() AS now`;

/** A handle that was dropped meanwhile, after a deletion, stays dropped. */
const saveStatement = `
  UPDATE dns_integration SET
    handle = CASE WHEN handle IS NULL THEN NULL ELSE coalesce($3, handle) END,
    state = coalesce($4, state),
    problem = CASE WHEN $5::boolean THEN $6 ELSE problem END,
    outcome = CASE WHEN $5::boolean THEN $11::jsonb ELSE outcome END,
    failures = coalesce($7::int, failures),
    checked_at = coalesce($8::timestamptz, checked_at),
    zones_due_at = coalesce($9::timestamptz, zones_due_at),
    ${leases.extend('$10')}
  WHERE ${underIntegrationLease('$1', '$2')}
  RETURNING account_id, deleted_at`;

/**
 * $1 limit. now() and not clock_timestamp(): a bound that is constant lets PostgreSQL use the indexes on due times.
 * Its cost grows with the due rows, not with all rows.
 */
const dueStatement = `
  WITH waiting (integration_id, due_at) AS (
    SELECT integration_id, min(due_at) FROM approval_record
    WHERE state <> 'removed' AND due_at <= now() GROUP BY integration_id
    UNION ALL
    SELECT id, zones_due_at FROM dns_integration WHERE deleted_at IS NULL AND zones_due_at <= now()),
  due AS (
    SELECT integration.id, integration.account_id, integration.lease_token, min(waiting.due_at) AS due_at
    FROM waiting JOIN dns_integration AS integration ON integration.id = waiting.integration_id
    WHERE integration.handle IS NOT NULL
      AND (integration.leased_until IS NULL OR integration.leased_until <= now())
    GROUP BY integration.id)
  SELECT id, account_id AS "accountId", lease_token AS "leaseToken",
    extract(epoch FROM clock_timestamp() - due_at)::int AS "overdueS"
  FROM due ORDER BY row_number() OVER (PARTITION BY account_id ORDER BY due_at, id), due_at LIMIT $1`;
