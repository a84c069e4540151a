import type { BackfillState } from '@certwright/core-schema';
import type { EndpointState } from '@certwright/endpoint-checks';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

export interface AccountUsage {
  readonly max_monitored_domains: number;
  readonly max_monitored_endpoints: number;
  readonly max_findings_per_day: number;
  readonly monitored_domains: number;
  /** Without states that no endpoint has. */
  readonly endpoints: Readonly<Partial<Record<EndpointState, number>>>;
  /** When the endpoint was due that has waited longest, or will be; null: no endpoints. */
  readonly check_due_at: Date | null;
  readonly held_since: Date | null;
  readonly found: number;
  readonly throttled: number;
}

export interface OpenBackfill {
  readonly name: string;
  readonly state: BackfillState;
  readonly found: number;
  readonly unknown: number;
  readonly created_at: Date;
}

/** What is stored about one monitored domain. */
export interface DomainStatus {
  readonly name: string;
  readonly enabled: boolean;
  /** Null: its last backfill did not begin yet. */
  readonly backfill: OpenBackfill | null;
  readonly certificates: number;
  readonly unknown: number;
  readonly throttled: boolean;
}

/** Open backfills that are shown. */
const maxBackfills = 100;

const isToday = `found_on = (now() AT TIME ZONE 'UTC')::date`;

@Injectable()
export class MonitoringStatus {
  constructor(private readonly database: DataSource) {}

  async account(accountId: string): Promise<AccountUsage> {
    const [row] = await this.database.query<[AccountUsage]>(
      `SELECT max_monitored_domains, max_monitored_endpoints, max_findings_per_day,
         (SELECT count(*)::int FROM monitored_domain WHERE account_id = account.id) AS monitored_domains,
         coalesce(found, 0) AS found, coalesce(throttled, 0) AS throttled, endpoint.*
       FROM account
       CROSS JOIN LATERAL (
         SELECT coalesce(jsonb_object_agg(state, endpoints), '{}') AS endpoints, min(due_at) AS check_due_at,
           min(held_since) AS held_since
         FROM (
           SELECT state, count(*) AS endpoints, min(check_due_at) AS due_at, min(held_since) AS held_since
           FROM monitored_endpoint WHERE account_id = account.id GROUP BY state) AS of_state) AS endpoint
       LEFT JOIN monitoring_account ON account_id = account.id AND ${isToday} WHERE account.id = $1`,
      [accountId],
    );
    return row;
  }

  async openBackfills(accountId: string): Promise<readonly OpenBackfill[]> {
    return await this.database.query(
      `SELECT name, state, found, unknown, created_at FROM monitoring_backfill
       WHERE account_id = $1 AND state IN ('waiting', 'running') ORDER BY change_id LIMIT $2`,
      [accountId, maxBackfills],
    );
  }

  /**
   * In one statement, however many there are. A backfill from before the domain was last enabled says nothing about it.
   *
   * @param name null: all of the account, by name
   */
  async domains(accountId: string, name: string | null): Promise<readonly DomainStatus[]> {
    return await this.database.query(
      `SELECT domain.name, domain.enabled, to_jsonb(backfill) AS backfill,
         coalesce(finding.certificates, 0)::int AS certificates, coalesce(finding.unknown, 0)::int AS unknown,
         EXISTS (SELECT 1 FROM monitoring_account
           WHERE account_id = $1 AND throttled > 0 AND ${isToday}) AS throttled
       FROM monitored_domain AS domain
       LEFT JOIN LATERAL (
         SELECT state, found, unknown, created_at FROM monitoring_backfill
         WHERE account_id = $1 AND name = domain.name AND created_at >= domain.enabled_at AND domain.enabled
         ORDER BY change_id DESC LIMIT 1) AS backfill ON true
       LEFT JOIN (
         SELECT monitored_domain, sum(found) AS certificates, sum(found) FILTER (WHERE state = 'unknown') AS unknown
         FROM (SELECT monitored_domain, state, count(*) AS found FROM monitoring_finding_domain
           WHERE account_id = $1 AND ($2::text IS NULL OR monitored_domain = $2)
           GROUP BY monitored_domain, state) AS counted
         GROUP BY monitored_domain) AS finding ON finding.monitored_domain = domain.name
       WHERE domain.account_id = $1 AND ($2::text IS NULL OR domain.name = $2) ORDER BY domain.name`,
      [accountId, name],
    );
  }
}
