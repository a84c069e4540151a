import type { EndpointReportKind, FindingAlert, FindingEndpoint, PlanOwner } from '@certwright/core-schema';
import { maxBackfilledInMail, type MonitoringMailFacts } from '@certwright/delivery';
import { mostSpecificMatch } from '@certwright/dns-names';
import type { TrackedFinding } from '@certwright/endpoint-checks';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A certificate that an account does not know. */
export interface UnknownCertificate {
  /** In hexadecimal, like all digests here. */
  readonly tbsSha256: string;
  readonly spkiSha256: string | null;
  readonly issuerSpkiSha256: string | null;
  /** Null: the entry of the log could not be read. */
  readonly notBefore: Date | null;
  readonly notAfter: Date;
  /** The first ones. */
  readonly endpoints: readonly FindingEndpoint[];
  readonly endpointCount: number;
  readonly isTest: boolean;
  readonly foundAt: Date;
  /** Null: no alert was sent, so it was not determined. */
  readonly alert: FindingAlert | null;
}

export interface CertificatesSubject {
  readonly accountName: string;
  /** At least one, in the order in which they were found. */
  readonly certificates: readonly UnknownCertificate[];
}

export interface BackfillSubject {
  readonly accountName: string;
  readonly name: string;
  /** The monitored domain that decides about the name: the name itself, or a tree above it that excludes it no longer. */
  readonly monitoredAs: string;
  readonly found: number;
  /** When the backfill ended. */
  readonly unknown: number;
  /** Those that are unknown now, the newest first, max `maxBackfilledInMail`. */
  readonly certificates: readonly UnknownCertificate[];
}

export interface OverflowSubject {
  readonly accountName: string;
  readonly maxFindingsPerDay: number;
  /** Certificates beyond the limit. */
  readonly counted: number;
}

export interface HeartbeatSubject {
  readonly accountName: string;
  readonly domains: number;
  /** Certificates that were found meanwhile, by state. */
  readonly known: number;
  readonly unknown: number;
  readonly acknowledged: number;
  readonly waiting: number;
}

/** Problems of an endpoint, or those that are gone. */
export interface EndpointReport {
  readonly dnsName: string;
  readonly kind: EndpointReportKind;
  readonly findings: readonly TrackedFinding[];
  readonly reportedAt: Date;
}

export interface EndpointsSubject {
  readonly accountName: string;
  /** At least one, oldest first. */
  readonly reports: readonly EndpointReport[];
}

export interface LoggedSubject {
  readonly owner: PlanOwner;
  readonly accountName: string;
  readonly objectName: string;
  readonly dnsNames: readonly string[];
}

/** A certificate that no log has. */
export interface NotLoggedSubject extends LoggedSubject {
  readonly serialNumber: string;
  readonly notAfter: Date;
  /** Null: not computed yet. */
  readonly tbsSha256: string | null;
  /** When its first SCT was known. */
  readonly sctAt: Date | null;
}

/** Subjects of mails about monitoring, as of the time of sending. Null: the mail is no longer needed. */
@Injectable()
export class MonitoringSubjects {
  constructor(private readonly database: DataSource) {}

  /** Null: the account is disabled. */
  async accountName(accountId: string): Promise<string | null> {
    const account = await this.one<{ name: string }>(
      `SELECT name FROM account WHERE id = $1 AND disabled_at IS NULL`,
      accountId,
    );
    return account?.name ?? null;
  }

  /** Null: each of them is known or acknowledged by now. */
  async certificates(accountId: string, tbsSha256: readonly string[]): Promise<CertificatesSubject | null> {
    const accountName = await this.accountName(accountId);
    if (accountName === null) return null;
    const certificates = await this.database.query<UnknownCertificate[]>(
      `SELECT ${certificateColumns} FROM monitoring_finding AS finding
       WHERE account_id = $1 AND tbs_sha256 = ANY (SELECT decode(digest, 'hex') FROM unnest($2::text[]) AS digest)
         AND state = 'unknown'
       ORDER BY found_at, tbs_sha256`,
      [accountId, tbsSha256],
    );
    return certificates.length === 0 ? null : { accountName, certificates };
  }

  /** Null: the name is no longer monitored. */
  async backfill(accountId: string, backfillId: string): Promise<BackfillSubject | null> {
    const backfill = await this.one<Omit<BackfillSubject, 'certificates' | 'monitoredAs'>>(
      `SELECT account.name AS "accountName", backfill.name, backfill.found, backfill.unknown
       FROM monitoring_backfill AS backfill JOIN account ON account.id = backfill.account_id
       WHERE backfill.change_id = $2 AND backfill.account_id = $1 AND account.disabled_at IS NULL
         AND backfill.state <> 'canceled'`,
      accountId,
      backfillId,
    );
    if (backfill === null) return null;
    const domains = await this.database.query<{ name: string; enabled: boolean }[]>(
      `SELECT name, enabled FROM monitored_domain WHERE account_id = $1`,
      [accountId],
    );
    const decider = mostSpecificMatch(domains, backfill.name);
    if (decider?.enabled !== true) return null;
    const certificates = await this.database.query<UnknownCertificate[]>(
      `SELECT ${certificateColumns} FROM monitoring_finding AS finding
       WHERE account_id = $1 AND backfill_id = $2 AND state = 'unknown'
       ORDER BY not_before DESC NULLS LAST, tbs_sha256 LIMIT $3`,
      [accountId, backfillId, maxBackfilledInMail],
    );
    return { ...backfill, monitoredAs: decider.name, certificates };
  }

  async overflow(
    accountId: string,
    { since, counted }: MonitoringMailFacts['monitoring-overflow'],
  ): Promise<OverflowSubject | null> {
    return await this.one<OverflowSubject>(
      `SELECT account.name AS "accountName", account.max_findings_per_day AS "maxFindingsPerDay",
         greatest($3::int, (
           SELECT throttled FROM monitoring_account AS monitored
           WHERE monitored.account_id = account.id AND found_on = ($2::timestamptz AT TIME ZONE 'UTC')::date)) AS counted
       FROM account WHERE account.id = $1 AND account.disabled_at IS NULL`,
      accountId,
      since,
      counted,
    );
  }

  /** Null: nothing is monitored any more. */
  async heartbeat(
    accountId: string,
    { since, until }: Pick<MonitoringMailFacts['monitoring-heartbeat'], 'since' | 'until'>,
  ): Promise<HeartbeatSubject | null> {
    const subject = await this.one<HeartbeatSubject>(
      `SELECT account.name AS "accountName",
         (SELECT count(*)::int FROM monitored_domain AS domain
          WHERE domain.account_id = account.id AND domain.enabled) AS domains, found.*
       FROM account CROSS JOIN LATERAL (
         SELECT count(*) FILTER (WHERE state = 'known')::int AS known,
           count(*) FILTER (WHERE state = 'unknown')::int AS unknown,
           count(*) FILTER (WHERE state = 'acknowledged')::int AS acknowledged,
           count(*) FILTER (WHERE state = 'waiting')::int AS waiting
         FROM monitoring_finding AS finding
         WHERE finding.account_id = account.id AND source <> 'test'
           AND found_at >= $2::timestamptz AND found_at < $3::timestamptz) AS found
       WHERE account.id = $1 AND account.disabled_at IS NULL`,
      accountId,
      since,
      until,
    );
    return subject === null || subject.domains === 0 ? null : subject;
  }

  /** Null: all of them were deleted or muted meanwhile. */
  async endpoints(accountId: string, reportIds: readonly string[]): Promise<EndpointsSubject | null> {
    const accountName = await this.accountName(accountId);
    if (accountName === null) return null;
    const reports = await this.database.query<EndpointReport[]>(
      `SELECT report.dns_name AS "dnsName", report.kind, report.findings, report.reported_at AS "reportedAt"
       FROM endpoint_report AS report
       JOIN monitored_endpoint AS endpoint
         ON endpoint.account_id = report.account_id AND endpoint.dns_name = report.dns_name
       WHERE report.account_id = $1 AND report.id = ANY ($2::bigint[]) AND NOT endpoint.muted
       ORDER BY report.id`,
      [accountId, reportIds],
    );
    return reports.length === 0 ? null : { accountName, reports };
  }

  /** Null: it is revoked or expired by now. */
  async notLogged(accountId: string, certificateId: string): Promise<NotLoggedSubject | null> {
    return await this.one<NotLoggedSubject>(
      `SELECT ${planColumns('certificate.dns_names')}, certificate.serial_number AS "serialNumber",
         certificate.not_after AS "notAfter", encode(certificate.tbs_sha256, 'hex') AS "tbsSha256",
         certificate.sct_at AS "sctAt"
       FROM certificate JOIN plan ON plan.id = certificate.plan_id ${planObjects}
       WHERE certificate.id = $2 AND plan.account_id = $1 AND account.disabled_at IS NULL
         AND certificate.revoked_at IS NULL AND certificate.not_after > clock_timestamp()`,
      accountId,
      certificateId,
    );
  }

  async issuance(accountId: string, issuanceId: string): Promise<LoggedSubject | null> {
    return await this.one<LoggedSubject>(
      `SELECT ${planColumns('terms.dns_names')}
       FROM issuance JOIN plan ON plan.id = issuance.plan_id ${planObjects}
       JOIN terms ON terms.id = issuance.terms_id
       WHERE issuance.id = $2 AND plan.account_id = $1 AND account.disabled_at IS NULL`,
      accountId,
      issuanceId,
    );
  }

  private async one<T>(statement: string, ...values: readonly unknown[]): Promise<T | null> {
    const [row]: T[] = await this.database.query(statement, [...values]);
    return row ?? null;
  }
}

const certificateColumns = `
  encode(finding.tbs_sha256, 'hex') AS "tbsSha256", encode(finding.spki_sha256, 'hex') AS "spkiSha256",
  encode(finding.issuer_spki_sha256, 'hex') AS "issuerSpkiSha256", finding.not_before AS "notBefore",
  finding.not_after AS "notAfter", finding.endpoints, finding.endpoint_count AS "endpointCount",
  finding.source = 'test' AS "isTest", finding.found_at AS "foundAt", finding.alert`;

/** @param dnsNames column of the certificate's names */
const planColumns = (dnsNames: string) =>
  `plan.owner, account.name AS "accountName", coalesce(order_v3.name, object_v2.cn, ${dnsNames}[1]) AS "objectName",
   ${dnsNames} AS "dnsNames"`;

const planObjects = `
  JOIN account ON account.id = plan.account_id
  LEFT JOIN order_v3 ON order_v3.plan_id = plan.id
  LEFT JOIN cert_object_v2 AS object_v2 ON object_v2.plan_id = plan.id`;
