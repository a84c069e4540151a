import type {
  FindingAlert,
  FindingEndpoint,
  FindingReason,
  FindingSource,
  FindingState,
  Tx,
} from '@certwright/core-schema';
import { findingStates } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A row of `monitoring_finding`. */
export interface Finding {
  readonly tbs_sha256: Buffer;
  readonly position: string | null;
  readonly spki_sha256: Buffer | null;
  readonly state: FindingState;
  readonly reason: FindingReason;
  readonly order_name: string | null;
  readonly cn: string | null;
  readonly endpoints: readonly FindingEndpoint[];
  readonly endpoint_count: number;
  readonly alert: Pick<FindingAlert, 'change'> | null;
  readonly found_at: Date;
  readonly source: FindingSource;
  readonly alerted_at: Date | null;
  readonly acknowledged_at: Date | null;
  readonly note: string;
  /** Its place in lists. */
  readonly cursor: string;
}

/** What a request changes of a finding. */
export type FindingChange = Pick<Finding, 'state' | 'reason' | 'note'>;

export interface FindingsPage {
  readonly state: FindingState | undefined;
  readonly monitoredDomain: string | undefined;
  /** Cursor of the last finding of the page before; null: the newest ones. */
  readonly after: string | null;
  readonly limit: number;
}

const columns = `
  finding.tbs_sha256, finding.position, finding.spki_sha256, finding.state, finding.reason, order_v3.name AS order_name,
  cert_object_v2.cn, finding.endpoints, finding.endpoint_count, finding.alert, finding.found_at, finding.source,
  finding.alerted_at, finding.acknowledged_at, finding.note,
  (extract(epoch FROM finding.found_at) * 1000000)::bigint || '-' || encode(finding.tbs_sha256, 'hex') AS cursor`;

const ofPlan = `
  LEFT JOIN order_v3 ON order_v3.plan_id = finding.plan_id
  LEFT JOIN cert_object_v2 ON cert_object_v2.plan_id = finding.plan_id`;

@Injectable()
export class Findings {
  constructor(private readonly database: DataSource) {}

  /**
   * Newest first. For each state the index has the findings in this order, so that a page reads at most four times its rows,
   * however many findings the account has.
   */
  async page(accountId: string, page: FindingsPage): Promise<readonly Finding[]> {
    const [micros, digest] = page.after?.split('-') ?? [null, null];
    const ofDomain = page.monitoredDomain !== undefined;
    return await this.database.query(
      `SELECT ${columns}
       FROM (
         SELECT newest.tbs_sha256 FROM unnest($2::text[]) AS listed (state) CROSS JOIN LATERAL (
           SELECT found_at, tbs_sha256 FROM ${ofDomain ? 'monitoring_finding_domain' : 'monitoring_finding'}
           WHERE account_id = $1 AND state = listed.state ${ofDomain ? 'AND monitored_domain = $6' : ''}
             AND (found_at, tbs_sha256) < (
               coalesce(timestamptz 'epoch' + $3::bigint * interval '1 microsecond', 'infinity'),
               coalesce(decode($4, 'hex'), ''))
           ORDER BY found_at DESC, tbs_sha256 DESC LIMIT $5) AS newest
         ORDER BY newest.found_at DESC, newest.tbs_sha256 DESC LIMIT $5) AS listed
       JOIN monitoring_finding AS finding ON finding.account_id = $1 AND finding.tbs_sha256 = listed.tbs_sha256 ${ofPlan}
       ORDER BY finding.found_at DESC, finding.tbs_sha256 DESC`,
      [
        accountId,
        page.state === undefined ? findingStates : [page.state],
        micros,
        digest,
        page.limit,
        ...(ofDomain ? [page.monitoredDomain] : []),
      ],
    );
  }

  async get(
    accountId: string,
    tbsSha256: Buffer,
    tx: Pick<Tx, 'query'> = this.database,
  ): Promise<Finding | null> {
    const [found] = await tx.query<Finding[]>(
      `SELECT ${columns} FROM monitoring_finding AS finding ${ofPlan}
       WHERE finding.account_id = $1 AND finding.tbs_sha256 = $2`,
      [accountId, tbsSha256],
    );
    return found ?? null;
  }

  /** The finding as it is once no other process is changing it. The caller holds the lock of the account. */
  async locked(tx: Tx, accountId: string, tbsSha256: Buffer): Promise<Finding | null> {
    await tx.query(
      `SELECT 1 FROM monitoring_finding WHERE account_id = $1 AND tbs_sha256 = $2 FOR NO KEY UPDATE`,
      [accountId, tbsSha256],
    );
    return await this.get(accountId, tbsSha256, tx);
  }

  /** Nothing of it is reported any more. @param acknowledgedBy of the API key; the time is kept if it was acknowledged before */
  async change(
    tx: Tx,
    accountId: string,
    tbsSha256: Buffer,
    { state, reason, note }: FindingChange,
    acknowledgedBy: string | null,
  ): Promise<void> {
    await tx.query(
      `UPDATE monitoring_finding SET state = $3, reason = $4, note = $5, classify_at = NULL, alert_due_at = NULL,
         mail_due = false,
         acknowledged_at = CASE WHEN $3 = 'acknowledged' THEN coalesce(acknowledged_at, now()) END,
         acknowledged_by = CASE WHEN $3 = 'acknowledged' THEN coalesce(acknowledged_by, $6) END
       WHERE account_id = $1 AND tbs_sha256 = $2`,
      [accountId, tbsSha256, state, reason, note, acknowledgedBy],
    );
  }

  /** Only for people: it changes nothing else. */
  async setNote(tx: Tx, accountId: string, tbsSha256: Buffer, note: string): Promise<void> {
    await tx.query(`UPDATE monitoring_finding SET note = $3 WHERE account_id = $1 AND tbs_sha256 = $2`, [
      accountId,
      tbsSha256,
      note,
    ]);
  }
}
