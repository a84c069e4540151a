import { leases } from '@certwright/postgres';
import { advanceIssuance } from '@certwright/jobs';
import {
  type ApprovalRecord,
  type ApprovalWay,
  dueAfterModification,
  type Issuance,
  type IssuanceState,
  type Outcome,
} from '@certwright/issuance';
import {
  approvalOf,
  issuanceErrorOf,
  type StoredApproval,
  type StoredIssuanceError,
  storedOutcome,
} from '@certwright/outcome-messages';
import { isOpen, requestRecordChecks, Outbox, type Tx, writesToOutbox } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { pendingApproval } from './pending-approval';
import { redoApprovals, type TooSoon } from './redo-approvals';

export interface OpenIssuance {
  readonly planId: string;
  readonly accountId: string;
  readonly revision: number;
  readonly termsId: string;
  readonly dnsNames: readonly string[];
  /** Of the terms; omitted or null: any method. */
  readonly approvalWays?: Readonly<Record<string, ApprovalWay>> | null;
  /** End of the paid time; omitted or null: not sold by time. */
  readonly expiresBy?: Date | null;
  /** How long it waits for further modifications, ms; 0: it begins at once. */
  readonly settlingMs: number;
  /** The same transaction has created the plan: there is no open issuance, and this one begins at once. Default: false. */
  readonly isFirst?: boolean;
}

export interface LatestIssuance extends Issuance {
  /** When the plan's current certificate is replaced automatically, or a failed replacement retried; null: never. */
  readonly renewAt: Date | null;
  /** Records that integrations publish for the plan's names. */
  readonly records: readonly RecordOfPlan[];
}

/** State of the approval record of one name, as shown to callers. */
export type RecordOfPlan = Pick<
  ApprovalRecord,
  'integrationId' | 'dnsName' | 'state' | 'problem' | 'failures'
> & {
  /** RFC 3339. */
  readonly stoppedAt: string | null;
};

/** As PostgreSQL returns it. */
type LatestRow = Omit<LatestIssuance, 'approvals' | 'lastError' | 'records'> & {
  readonly approvals: readonly StoredApproval[];
  readonly lastError: StoredIssuanceError | null;
  readonly records: readonly (Omit<RecordOfPlan, 'problem'> & {
    readonly problem: string | null;
    readonly outcome: Outcome | null;
  })[];
};

/** Replaced by the id that the database gives to a new issuance. */
const openedId = '{id}';

/** Operations of the APIs on issuances: open one for new terms, close the open one, read the newest. */
@Injectable()
export class Issuances {
  constructor(
    private readonly database: DataSource,
    private readonly outbox: Outbox,
  ) {}

  /**
   * Opens an issuance of the plan's current terms; it supersedes the open one. The caller holds the plan's row.
   *
   * @returns the id of the new issuance
   */
  async open(tx: Tx, request: OpenIssuance): Promise<string> {
    // Records that only the superseded issuance used are checked: they may no longer be needed.
    if (request.approvalWays) await tx.query(requestRecordChecks('$1'), [request.planId]);
    const later = request.isFirst === true ? null : await this.dueAfterOpen(tx, request);
    const { name, id, payload } = advanceIssuance(openedId, 0);
    if (later === null) writesToOutbox(tx);
    const [row] = await tx.query<[{ id: string }]>(
      `WITH opened AS (
         INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, expires_by)
         VALUES ($1, $2, $3, $4, 'open', $5, coalesce($6::timestamptz, clock_timestamp()), $7) RETURNING id),
       woken AS (
         INSERT INTO outbox (job, job_id, payload)
         SELECT $8, replace($9, '${openedId}', id::text), replace($10, '${openedId}', id::text)::jsonb
         FROM opened WHERE $6::timestamptz IS NULL)
       SELECT id FROM opened`,
      [
        request.planId,
        request.accountId,
        request.termsId,
        request.revision,
        JSON.stringify(
          request.dnsNames.map((dnsName) => pendingApproval(dnsName, request.approvalWays ?? null)),
        ),
        later,
        request.expiresBy ?? null,
        name,
        id,
        JSON.stringify(payload),
      ],
    );
    return row.id;
  }

  /**
   * Closes the open issuance.
   *
   * @returns null: the new one is due now. One that is due later needs no wake-up: the sweep finds it.
   */
  private async dueAfterOpen(tx: Tx, { planId, settlingMs }: OpenIssuance): Promise<Date | null> {
    const { now, dueAt } = await this.closeOpen(tx, planId, 'superseded');
    const due = dueAfterModification(now, settlingMs, dueAt);
    return due.getTime() <= now.getTime() ? null : due;
  }

  /**
   * Closes the plan's open issuance, if any. The caller holds the plan's row. A certificate with a blocked key that the
   * CA may have issued is still collected and revoked.
   *
   * @returns when the closed one was due, unless it was attempted already, and the time of the database
   */
  async closeOpen(
    tx: Tx,
    planId: string,
    state: Extract<IssuanceState, 'superseded' | 'canceled'>,
  ): Promise<{ readonly dueAt: Date | null; readonly now: Date }> {
    const [row] = await tx.query<[{ dueAt: Date | null; now: Date }]>(
      `WITH closed AS (
         UPDATE issuance SET state = $2, ${leases.release}, closed_at = CASE
           WHEN ca_reference IS NOT NULL AND EXISTS (
             SELECT FROM terms JOIN blocked_key ON blocked_key.spki_sha256 = terms.spki_sha256
             WHERE terms.id = issuance.terms_id AND blocked_key.account_id IN (0, issuance.account_id))
           THEN 'infinity' ELSE now() END
         WHERE plan_id = $1 AND ${isOpen} RETURNING CASE WHEN lease_token = 0 THEN due_at END AS due_at)
       SELECT (SELECT due_at FROM closed) AS "dueAt", clock_timestamp() AS now`,
      [planId, state],
    );
    return row;
  }

  /**
   * Changes the approval methods of the plan's open issuance; see `redoApprovals`. The caller holds the plan's row.
   *
   * @param ways of the terms; null: any method
   * @param termsId the plan's terms with these methods
   * @returns false when none is open; `TooSoon`: then the transaction must not be committed
   */
  async redoApprovals(
    tx: Tx,
    planId: string,
    ways: Readonly<Record<string, ApprovalWay>> | null,
    termsId: string,
  ): Promise<boolean | TooSoon> {
    const redone = await redoApprovals(tx, planId, ways, termsId);
    if (redone === null) return false;
    if ('retryAfterS' in redone) return redone;
    await this.outbox.add(tx, advanceIssuance(redone.issuanceId, redone.leaseToken));
    return true;
  }

  /** The newest issuance, open or not, of each plan that has one. */
  async latestOf(
    planIds: readonly string[],
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<LatestIssuance[]> {
    const rows = await reader.query<LatestRow[]>(
      `SELECT issuance.id, plan_id AS "planId", account_id AS "accountId", terms_id AS "termsId", revision, state,
              approvals, ca_reference AS "caReference", failures, last_error AS "lastError",
              opened_at AS "openedAt", due_at AS "dueAt", waits_for AS "waitsFor", expires_by AS "expiresBy", wanted.renew_at AS "renewAt",
              (SELECT coalesce(jsonb_agg(jsonb_build_object(
                  'integrationId', integration_id::text, 'dnsName', dns_name, 'state', record.state,
                  'problem', problem, 'outcome', outcome, 'failures', record.failures, 'stoppedAt', stopped_at)), '[]')
               FROM approval_record_use AS used JOIN approval_record AS record ON record.id = used.record_id
               WHERE used.plan_id = wanted.id AND record.state <> 'removed') AS records
       FROM (SELECT id, CASE WHEN (auto_renew OR replacement_paid) AND NOT paused AND closed_at IS NULL THEN renew_at END AS renew_at
             FROM plan WHERE id = ANY($1::bigint[])) AS wanted
       CROSS JOIN LATERAL (
         SELECT * FROM issuance WHERE issuance.plan_id = wanted.id ORDER BY issuance.id DESC LIMIT 1) AS issuance`,
      [planIds],
    );
    return rows.map(({ approvals, lastError, records, ...row }) => ({
      ...row,
      approvals: approvals.map(approvalOf),
      lastError: lastError === null ? null : issuanceErrorOf(lastError),
      records: records.map(({ problem, outcome, ...record }) => ({
        ...record,
        problem: storedOutcome(problem, outcome),
      })),
    }));
  }
}
