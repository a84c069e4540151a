import type { ApprovalRecord, Outcome, RecordChange } from '@certwright/issuance';
import { neutralMessage, storedOutcome } from '@certwright/outcome-messages';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type IntegrationLease, underIntegrationLease } from '@certwright/dns-integrations';
import { IssuanceWakeUps } from '@certwright/approvals';
import { Transactions, type Tx } from '@certwright/core-schema';

/** A record whose integration is leased by this worker. */
export interface LeasedRecord extends ApprovalRecord {
  readonly zoneName: string;
  /** `_acme-challenge.<dnsName>` → this, as a CNAME. */
  readonly target: string;
  /** Values as they were read, so that a later request is not lost. */
  readonly requests: number;
}

type DueRow = Omit<LeasedRecord, 'problem'> & {
  readonly problem: string | null;
  readonly outcome: Outcome | null;
  readonly needed: boolean;
};

export interface DueRecord {
  readonly record: LeasedRecord;
  /** An open plan names it, and its integration is not deleted. */
  readonly needed: boolean;
}

@Injectable()
export class LeasedRecords {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    private readonly wakeUps: IssuanceWakeUps,
  ) {}

  /** Due records of an integration, the longest due first. */
  async due({ integrationId }: IntegrationLease, limit: number): Promise<readonly DueRecord[]> {
    const rows: DueRow[] = await this.database.query(dueStatement, [integrationId, limit]);
    return rows.map(({ needed, problem, outcome, ...record }) => ({
      record: { ...record, problem: storedOutcome(problem, outcome) },
      needed,
    }));
  }

  /**
   * Writes the changes. When the record becomes standing or is removed, the issuances of the plans that use it become
   * due in the same transaction, so that none keeps waiting.
   *
   * @returns false when the record no longer belongs to this holder: it moved to another integration, or the lease is
   *   lost
   */
  async save(lease: IntegrationLease, record: LeasedRecord, change: RecordChange): Promise<boolean> {
    const isNews =
      change.state !== undefined &&
      change.state !== record.state &&
      ['standing', 'removed'].includes(change.state);
    if (!isNews) return await saveRecord(this.database, lease, record, change);
    return await this.transactions.run(async (tx) => {
      if (!(await saveRecord(tx, lease, record, change))) return false;
      await this.wakeUps.wakeUsersOfRecord(tx, record.id);
      return true;
    });
  }
}

async function saveRecord(
  database: Pick<Tx, 'query'>,
  { integrationId, token }: IntegrationLease,
  { id, requests }: LeasedRecord,
  change: RecordChange,
): Promise<boolean> {
  const given = <T>(value: T | undefined) => [value !== undefined, value ?? null];
  const [, changed] = await database.query<[unknown, number]>(saveStatement, [
    id,
    integrationId,
    token,
    requests,
    change.state ?? null,
    change.failures ?? null,
    ...given(change.attemptedAt),
    ...given(change.addedAt),
    ...given(change.recordHandle),
    ...given(change.stoppedAt),
    ...given(change.standingAt),
    ...given(change.problem && neutralMessage(change.problem)),
    ...given(change.dueAt),
    change.problem ? JSON.stringify(change.problem) : null,
  ]);
  return changed > 0;
}

/** Whether the names, an array, include one that a record approves: one without another approval method. */
const approvedByRecord = (names: string, ways: string) => `EXISTS (
  SELECT 1 FROM unnest(ARRAY[record.dns_name, '*.' || record.dns_name]) AS wanted (name)
  WHERE name = ANY (${names}) AND coalesce(${ways} -> name ->> 'method', 'dns') = 'dns')`;

/** An issuance in progress may use another approval method than the plan's newest terms. */
const awaitedByIssuance = `EXISTS (
  SELECT 1 FROM issuance, jsonb_array_elements(issuance.approvals) AS approval
  WHERE issuance.plan_id = plan.id AND issuance.state = 'open' AND approval -> 'way' ->> 'method' = 'dns'
    AND approval ->> 'dnsName' IN (record.dns_name, '*.' || record.dns_name))`;

/** $1 integration, $2 limit. A plan without terms waits for its CSR: until then all names that it uses count. */
const dueStatement = `
  SELECT record.id, record.integration_id AS "integrationId", record.dns_name AS "dnsName",
    record.zone_name AS "zoneName", record.target, record.state, record.attempted_at AS "attemptedAt",
    record.added_at AS "addedAt", record.record_handle AS "recordHandle", record.stopped_at AS "stoppedAt",
    record.problem, record.outcome, record.failures, record.due_at AS "dueAt",
    record.asks AS requests, /* language: column */
    integration.deleted_at IS NULL AND EXISTS (
      SELECT 1 FROM approval_record_use AS used
      JOIN plan ON plan.id = used.plan_id AND plan.closed_at IS NULL
      LEFT JOIN terms ON terms.id = plan.terms_id
      WHERE used.record_id = record.id
        AND (terms.id IS NULL OR ${approvedByRecord('terms.dns_names', 'terms.approval_ways')}
          OR ${awaitedByIssuance})) AS needed
  FROM approval_record AS record JOIN dns_integration AS integration ON integration.id = record.integration_id
  WHERE record.integration_id = $1 AND record.state <> 'removed' AND record.due_at <= clock_timestamp()
  ORDER BY record.due_at LIMIT $2`;

/** $at: whether a value is set; the parameter after it: the value. */
const givenOr = (column: string, at: number, type: 'timestamptz' | 'text') =>
  `${column} = CASE WHEN $${at}::boolean THEN $${at + 1}::${type} ELSE approval_record.${column} END`;

/**
 * Whether a request came since the record was read. Then it is due and is not removed: a plan may need it by now.
 */
const requestedSince = `approval_record.asks <> $4::int`; // language: column

/**
 * Locks the integration's row, so that it cannot be deleted between reading and writing: standing or required records
 * of a deleted integration must be due.
 */
const saveStatement = `
  WITH held AS (
    SELECT id, deleted_at FROM dns_integration WHERE ${underIntegrationLease('$2', '$3')} FOR SHARE)
  UPDATE approval_record SET
    state = CASE WHEN $5 = 'removed' AND ${requestedSince} THEN approval_record.state
      ELSE coalesce($5, approval_record.state) END,
    removed_at = CASE WHEN $5 = 'removed' AND NOT ${requestedSince} THEN clock_timestamp() END,
    failures = coalesce($6::int, approval_record.failures),
    ${givenOr('attempted_at', 7, 'timestamptz')},
    ${givenOr('added_at', 9, 'timestamptz')},
    ${givenOr('record_handle', 11, 'text')},
    ${givenOr('stopped_at', 13, 'timestamptz')},
    ${givenOr('standing_at', 15, 'timestamptz')},
    ${givenOr('problem', 17, 'text')},
    outcome = CASE WHEN $17::boolean THEN $21::jsonb ELSE approval_record.outcome END,
    due_at = CASE
      WHEN ${requestedSince} THEN clock_timestamp()
      WHEN held.deleted_at IS NOT NULL AND coalesce($5, approval_record.state) IN ('wanted', 'standing')
        THEN clock_timestamp()
      WHEN $19::boolean THEN $20::timestamptz
      ELSE approval_record.due_at END
  FROM held
  WHERE approval_record.id = $1 AND approval_record.integration_id = held.id AND approval_record.state <> 'removed'`;
