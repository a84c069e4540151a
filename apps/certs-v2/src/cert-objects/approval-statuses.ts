import { type ApprovalMethod, zoneFor, zoneNamesOver } from '@certwright/issuance';
import { ApprovalRecords } from '@certwright/approvals';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { PlacedWay } from './approval-ways';
import { WebRuleChecks } from './web-rule-checks';

/** A name whose approval status is requested. */
export type RequestedApproval = Pick<PlacedWay, 'dnsName' | 'method' | 'recordPlace'>;

/** Approvals that are in place. An approval by email never is: it requires a click each time. */
export class ReadyApprovals {
  private readonly keys: ReadonlySet<string>;

  constructor(ready: readonly RequestedApproval[]) {
    this.keys = new Set(ready.map(keyOf));
  }

  static readonly none = new ReadyApprovals([]);

  has(approval: Pick<RequestedApproval, 'dnsName' | 'method'>): boolean {
    return this.keys.has(keyOf(approval));
  }
}

function keyOf({ dnsName, method }: Pick<RequestedApproval, 'dnsName' | 'method'>): string {
  return `${method} ${dnsName}`;
}

/** Whether the last check approved a name by a method. */
interface LastResult {
  readonly dnsName: string;
  readonly method: ApprovalMethod;
  readonly approved: boolean;
}

/** Issuances of a plan that provide results: the open one, and the one it replaces. */
const issuancesEach = 3;

/**
 * How long an approval proves that its record or rule is still in place: as long as public CAs reuse one since
 * 2026-03-15 (Baseline Requirements 4.2.1); 100 days from 2027-03-15.
 */
const reuseDays = 200;

/** Results of issuances for names. */
@Injectable()
export class ApprovalHistory {
  constructor(private readonly database: DataSource) {}

  /** The newest result for each name and method; no entry without a check. */
  async lastResults(planIds: readonly string[], dnsNames: readonly string[]): Promise<LastResult[]> {
    if (planIds.length === 0 || dnsNames.length === 0) return [];
    return await this.database.query(
      `SELECT DISTINCT ON (name, method) name AS "dnsName", method,
         approved AND checked_at > now() - make_interval(days => $4) AS approved
       FROM unnest($1::bigint[]) AS wanted (plan_id)
       CROSS JOIN LATERAL (
         SELECT id, approvals FROM issuance WHERE issuance.plan_id = wanted.plan_id ORDER BY id DESC LIMIT $3) AS issuance
       CROSS JOIN LATERAL (
         SELECT approval ->> 'dnsName' AS name, coalesce(approval ->> 'method', approval -> 'way' ->> 'method') AS method,
           approval ->> 'status' = 'approved' AS approved, (approval ->> 'checkedAt')::timestamptz AS checked_at
         FROM jsonb_array_elements(issuance.approvals) AS approval) AS result
       WHERE name = ANY ($2::text[]) AND method IS NOT NULL AND checked_at IS NOT NULL
       ORDER BY name, method, checked_at DESC, issuance.id DESC`,
      [planIds, dnsNames, issuancesEach, reuseDays],
    );
  }
}

export interface RequestedApprovals {
  readonly accountId: string;
  /** Plans whose issuances may have results. */
  readonly planIds: readonly string[];
  /** The most important ones first: not all can be checked. */
  readonly approvals: readonly RequestedApproval[];
}

/**
 * Whether a name would be approved now, as far as a request can determine it. API processes do not query DNS: a
 * record counts as ready when an integration has published it or will do so automatically (the account's zone that
 * contains the name), or when an issuance found it last. The prober checks web servers; after a timeout, the last
 * result of an issuance counts.
 */
@Injectable()
export class ApprovalStatuses {
  constructor(
    private readonly records: ApprovalRecords,
    private readonly history: ApprovalHistory,
    private readonly webRules: WebRuleChecks,
  ) {}

  /** Never within a transaction: it waits for web servers, and uses its own connections. */
  async of({ accountId, planIds, approvals }: RequestedApprovals): Promise<ReadyApprovals> {
    const byDns = approvals.filter(({ method }) => method === 'dns');
    const byHttp = approvals.filter(({ method }) => method === 'http');
    const names = [...new Set([...byDns, ...byHttp].map(({ dnsName }) => dnsName))];
    if (names.length === 0) return ReadyApprovals.none;
    const results = await this.history.lastResults(planIds, names);
    const found = new Map(results.map((result) => [keyOf(result), result.approved]));
    const published = await this.published(accountId, byDns);
    const seen = await this.webRules.at(accountId, [...new Set(byHttp.map(({ dnsName }) => dnsName))]);
    return new ReadyApprovals([
      ...byDns.filter((each) => published.has(each.recordPlace) || found.get(keyOf(each)) === true),
      ...byHttp.filter((each) => seen.get(each.dnsName) ?? found.get(keyOf(each)) ?? false),
    ]);
  }

  /** Names whose record an integration has published, or publishes as soon as an issuance needs it. */
  private async published(
    accountId: string,
    byDns: readonly RequestedApproval[],
  ): Promise<ReadonlySet<string>> {
    const places = [...new Set(byDns.map(({ recordPlace }) => recordPlace))];
    if (places.length === 0) return new Set();
    const { zones, records } = await this.records.coverageOf(accountId, noPlan, places);
    const zonesByName = Map.groupBy(zones, ({ zoneName }) => zoneName);
    return new Set(
      places.filter((place) => {
        if (records.get(place)?.state === 'standing') return true;
        // Longest first: shorter zones have delegated the name.
        const zoneName = zoneNamesOver(place).find((name) => zonesByName.has(name));
        return zoneName !== undefined && zoneFor(place, zonesByName.get(zoneName) ?? [])?.ok === true;
      }),
    );
  }
}

/** Which plan uses a record does not matter here. */
const noPlan = '0';
