import type { EndpointReportKind, Tx } from '@certwright/core-schema';
import { AccountEvents } from '@certwright/delivery';
import type { TrackedFinding } from '@certwright/endpoint-checks';
import { endpointEventBody, type EndpointRow } from '@certwright/monitored-endpoints';
import { Injectable } from '@nestjs/common';
import { endpointMail, gatheringMinutes, mailDueStatement } from '../gathered-mail/gathered-mail';

/** What an account is notified of. */
export interface EndpointReport {
  readonly account: string;
  readonly kind: EndpointReportKind;
  /** Those that are reported or withdrawn, before they are marked. */
  readonly findings: readonly TrackedFinding[];
  /** After the check. */
  readonly endpoint: EndpointRow;
}

const events = {
  problem: 'monitoring.endpoint_problem',
  recovered: 'monitoring.endpoint_recovered',
} as const satisfies Record<EndpointReportKind, string>;

/** Reports what checks found, in the transaction that stores their results. */
@Injectable()
export class EndpointReports {
  constructor(private readonly events: AccountEvents) {}

  async add(tx: Tx, reports: readonly EndpointReport[], now: Date): Promise<void> {
    if (reports.length === 0) return;
    const inserted = await tx.query<{ id: string }[]>(insertStatement, [
      JSON.stringify(
        reports.map(({ account, kind, findings, endpoint }, nth) => ({
          ...{ nth, account_id: account, dns_name: endpoint.dns_name, kind },
          ...{ findings: findings.map((finding) => marked(finding, kind, now)), reported_at: now },
        })),
      ),
    ]);
    const ids = inserted.map(({ id }) => id).sort((one, other) => Number(one) - Number(other));
    const accounts = [...new Set(reports.map(({ account }) => account))];
    await tx.query(mailDueStatement(endpointMail), [accounts, gatheringMinutes]);
    await this.events.enqueue(
      tx,
      reports.map(({ account, kind, findings, endpoint }, nth) => ({
        accountId: account,
        event: events[kind],
        // Another one for each report, so that none supersedes another.
        subject: `endpoint_report:${ids[nth]}`,
        body: endpointEventBody(
          endpoint,
          findings.map((finding) => marked(finding, kind, now)),
        ),
      })),
    );
  }
}

const marked = (finding: TrackedFinding, kind: EndpointReportKind, now: Date): TrackedFinding =>
  kind === 'problem' ? { ...finding, reportedAt: now.toISOString(), reportedLevel: finding.level } : finding;

/** $1 the reports. The mail is due unless the account wants none. */
const insertStatement = `
  INSERT INTO endpoint_report (account_id, dns_name, kind, findings, reported_at, mail_due)
  SELECT given.account_id, given.dns_name, given.kind, given.findings, given.reported_at,
    coalesce(settings.endpoint_mail, 'at_once') <> 'off'
  FROM jsonb_to_recordset($1::jsonb)
    AS given (nth int, account_id bigint, dns_name text, kind text, findings jsonb, reported_at timestamptz)
  LEFT JOIN monitoring_settings AS settings ON settings.account_id = given.account_id
  ORDER BY nth RETURNING id`;
