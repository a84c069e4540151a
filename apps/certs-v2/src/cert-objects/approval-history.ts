import type { ApprovalMethod } from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Whether a name was found to be approved in a way when somebody last looked. */
export interface LastLook {
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
