import type {
  FindingAlert,
  FindingEndpoint,
  FindingReason,
  FindingSource,
  Tx,
} from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AccountTurns, dueInTurn } from '../findings/account-turns';

/** A finding of which its account is to be notified. */
export interface DueAlert {
  readonly account: string;
  readonly tbsSha256: Buffer;
  readonly position: string | null;
  readonly spkiSha256: Buffer | null;
  readonly issuerSpkiSha256: Buffer | null;
  readonly dnsNamesSha256: Buffer;
  readonly endpoints: readonly FindingEndpoint[];
  readonly source: FindingSource;
  readonly reason: FindingReason;
  readonly previousSpkiSha256: Buffer | null;
  readonly previousIssuerSpkiSha256: Buffer | null;
  readonly previousDnsNamesSha256: Buffer | null;
}

export type AlertId = Pick<DueAlert, 'account' | 'tbsSha256'>;

/** An alert whose deliveries are being enqueued. */
export interface SentAlert extends AlertId {
  readonly alert: FindingAlert;
}

/** How long certificates are gathered for the next mail, minutes. */
export const gatheringMinutes = 15;

/** Whether one of the domains of a `finding` is still monitored. Tests are about no domain of the account. */
export const isMonitored = `(finding.source = 'test' OR EXISTS (
  SELECT 1 FROM monitored_domain AS domain
  WHERE domain.account_id = finding.account_id AND domain.name = ANY (finding.monitored_domains) AND domain.enabled))`;

@Injectable()
export class DueAlerts {
  private readonly turns = new AccountTurns();

  constructor(private readonly database: DataSource) {}

  /** The oldest of each account in turn. */
  async due(limit: number): Promise<readonly DueAlert[]> {
    return await this.turns.next(
      limit,
      async (after) => await this.database.query<DueAlert[]>(dueStatement, [limit, after]),
    );
  }

  /**
   * Locks those that are still due.
   *
   * @returns by account and digest whether the account receives anything: it does not when it is disabled, or monitors none
   *   of the domains any more
   */
  async lock(
    tx: Tx,
    alerts: readonly AlertId[],
  ): Promise<readonly (AlertId & { readonly isSent: boolean })[]> {
    return await tx.query(
      `SELECT finding.account_id AS account, tbs_sha256 AS "tbsSha256",
         finding.state = 'unknown' AND account.disabled_at IS NULL AND ${isMonitored} AS "isSent"
       FROM monitoring_finding AS finding JOIN account ON account.id = finding.account_id
       WHERE (finding.account_id, tbs_sha256) IN (SELECT * FROM unnest($1::bigint[], $2::bytea[]))
         AND alert_due_at IS NOT NULL
       ORDER BY finding.account_id, tbs_sha256 FOR UPDATE OF finding`,
      [alerts.map(({ account }) => account), alerts.map(({ tbsSha256 }) => tbsSha256)],
    );
  }

  /** The finding is never alerted again. It is noted for the account's mail, if that is on. */
  async markSent(tx: Tx, alerts: readonly SentAlert[]): Promise<void> {
    if (alerts.length === 0) return;
    await tx.query(
      `UPDATE monitoring_finding AS finding
       SET alert_due_at = NULL, alerted_at = clock_timestamp(), alert = given.alert::jsonb,
         mail_due = coalesce(settings.certificate_mail, 'at_once') <> 'off'
       FROM unnest($1::bigint[], $2::bytea[], $3::text[]) AS given (account_id, tbs_sha256, alert)
       LEFT JOIN monitoring_settings AS settings ON settings.account_id = given.account_id
       WHERE finding.account_id = given.account_id AND finding.tbs_sha256 = given.tbs_sha256`,
      [
        alerts.map(({ account }) => account),
        alerts.map(({ tbsSha256 }) => tbsSha256),
        alerts.map(({ alert }) => JSON.stringify(alert)),
      ],
    );
    const accounts = [...new Set(alerts.map(({ account }) => account))];
    await tx.query(mailDueStatement, [accounts, gatheringMinutes]);
  }

  async markUnsent(tx: Tx, alerts: readonly AlertId[]): Promise<void> {
    if (alerts.length === 0) return;
    await tx.query(
      `UPDATE monitoring_finding SET alert_due_at = NULL
       WHERE (account_id, tbs_sha256) IN (SELECT * FROM unnest($1::bigint[], $2::bytea[]))`,
      [alerts.map(({ account }) => account), alerts.map(({ tbsSha256 }) => tbsSha256)],
    );
  }
}

const dueStatement = `
  ${dueInTurn('alert_due_at')}
  SELECT finding.account_id AS account, finding.tbs_sha256 AS "tbsSha256", finding.position,
    finding.spki_sha256 AS "spkiSha256", finding.issuer_spki_sha256 AS "issuerSpkiSha256",
    finding.dns_names_sha256 AS "dnsNamesSha256", finding.endpoints, finding.source, finding.reason,
    previous.spki_sha256 AS "previousSpkiSha256", previous.issuer_spki_sha256 AS "previousIssuerSpkiSha256",
    previous.dns_names_sha256 AS "previousDnsNamesSha256"
  FROM due
  JOIN monitoring_finding AS finding ON finding.account_id = due.account_id AND finding.tbs_sha256 = due.tbs_sha256
  LEFT JOIN monitoring_finding AS previous
    ON previous.account_id = finding.account_id AND previous.tbs_sha256 = finding.previous_tbs_sha256
  ORDER BY finding.account_id, due.due_at`;

/** $1 accounts, $2 minutes. The first mail is sent at once, the next one later; a digest at its hour in UTC. */
const mailDueStatement = `
  INSERT INTO monitoring_account AS counters (account_id, mail_due_at)
  SELECT account.id, CASE coalesce(settings.certificate_mail, 'at_once')
    WHEN 'at_once' THEN greatest(now(), state.mailed_at + $2::int * interval '1 minute')
    WHEN 'digest' THEN (
      SELECT min(hour) FROM generate_series(0, 1) AS day,
        LATERAL (SELECT (date_trunc('day', now() AT TIME ZONE 'UTC') + day * interval '1 day'
          + settings.digest_hour_utc * interval '1 hour') AT TIME ZONE 'UTC' AS hour) AS hours
      WHERE hour > now())
    END
  FROM account
  LEFT JOIN monitoring_settings AS settings ON settings.account_id = account.id
  LEFT JOIN monitoring_account AS state ON state.account_id = account.id
  WHERE account.id = ANY ($1::bigint[]) ORDER BY account.id
  ON CONFLICT (account_id) DO UPDATE SET mail_due_at = excluded.mail_due_at
    WHERE counters.mail_due_at IS NULL`;
