import { type ApprovalMethod, zoneFor, zoneNamesOver } from '@certwright/issuance';
import { ApprovalRecords } from '@certwright/approvals';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { PlacedWay } from './approval-ways';
import { WebRuleLooks } from './web-rule-looks';

/** A name whose approval is asked about. */
export type AskedApproval = Pick<PlacedWay, 'dnsName' | 'method' | 'recordPlace'>;

/** Which approvals are in place. An approval by email never is: somebody has to press a button each time. */
export class ReadyApprovals {
  private readonly keys: ReadonlySet<string>;

  constructor(ready: readonly AskedApproval[]) {
    this.keys = new Set(ready.map(keyOf));
  }

  static readonly none = new ReadyApprovals([]);

  has(approval: Pick<AskedApproval, 'dnsName' | 'method'>): boolean {
    return this.keys.has(keyOf(approval));
  }
}

function keyOf({ dnsName, method }: Pick<AskedApproval, 'dnsName' | 'method'>): string {
  return `${method} ${dnsName}`;
}

/** Whether a name was approved in a way at the last look. */
interface LastLook {
  readonly dnsName: string;
  readonly method: ApprovalMethod;
  readonly approved: boolean;
}

/** Issuances of a plan that are looked back at: the open one, and what it replaces. */
const issuancesEach = 3;

/**
 * How long an approval says that what gave it still stands: as long as public CAs use one again since 2026-03-15 (Baseline
 * Requirements 4.2.1); 100 days from 2027-03-15.
 */
const reuseDays = 200;

/** What issuances have found out about names. */
@Injectable()
export class ApprovalHistory {
  constructor(private readonly database: DataSource) {}

  /** The newest finding for each name and way; nothing where nobody has looked. */
  async lastLooks(planIds: readonly string[], dnsNames: readonly string[]): Promise<LastLook[]> {
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
         FROM jsonb_array_elements(issuance.approvals) AS approval) AS look
       WHERE name = ANY ($2::text[]) AND method IS NOT NULL AND checked_at IS NOT NULL
       ORDER BY name, method, checked_at DESC, issuance.id DESC`,
      [planIds, dnsNames, issuancesEach, reuseDays],
    );
  }
}

export interface AskedApprovals {
  readonly accountId: string;
  /** Whose issuances may have looked already. */
  readonly planIds: readonly string[];
  /** The ones that matter most first: not all can be looked at. */
  readonly approvals: readonly AskedApproval[];
}

/**
 * Whether a name would be approved right now, as far as it can be known within a request. No API process asks DNS: a record
 * counts as ready when an integration has published it or will do so by itself (the account's zone that holds the name), or
 * when an issuance found it last. A web server is looked at through the prober; where nobody answers in time, what an
 * issuance found last counts.
 */
@Injectable()
export class ApprovalStatuses {
  constructor(
    private readonly records: ApprovalRecords,
    private readonly history: ApprovalHistory,
    private readonly webRules: WebRuleLooks,
  ) {}

  /** Never within a transaction: it waits for web servers, and takes connections of its own. */
  async of({ accountId, planIds, approvals }: AskedApprovals): Promise<ReadyApprovals> {
    const byDns = approvals.filter(({ method }) => method === 'dns');
    const byHttp = approvals.filter(({ method }) => method === 'http');
    const names = [...new Set([...byDns, ...byHttp].map(({ dnsName }) => dnsName))];
    if (names.length === 0) return ReadyApprovals.none;
    const looks = await this.history.lastLooks(planIds, names);
    const found = new Map(looks.map((look) => [keyOf(look), look.approved]));
    const published = await this.published(accountId, byDns);
    const seen = await this.webRules.at(accountId, [...new Set(byHttp.map(({ dnsName }) => dnsName))]);
    return new ReadyApprovals([
      ...byDns.filter((each) => published.has(each.recordPlace) || found.get(keyOf(each)) === true),
      ...byHttp.filter((each) => seen.get(each.dnsName) ?? found.get(keyOf(each)) ?? false),
    ]);
  }

  /** Places whose record stands through an integration, or is published as soon as an issuance wants it. */
  private async published(accountId: string, byDns: readonly AskedApproval[]): Promise<ReadonlySet<string>> {
    const places = [...new Set(byDns.map(({ recordPlace }) => recordPlace))];
    if (places.length === 0) return new Set();
    const { zones, records } = await this.records.coverageOf(accountId, noPlan, places);
    const zonesByName = Map.groupBy(zones, ({ zoneName }) => zoneName);
    return new Set(
      places.filter((place) => {
        if (records.get(place)?.state === 'standing') return true;
        // The longest first: those that are shorter have delegated the name away.
        const zoneName = zoneNamesOver(place).find((name) => zonesByName.has(name));
        return zoneName !== undefined && zoneFor(place, zonesByName.get(zoneName) ?? [])?.ok === true;
      }),
    );
  }
}

/** Which plan uses a record does not matter here. */
const noPlan = '0';
