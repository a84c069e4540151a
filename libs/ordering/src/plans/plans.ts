import { baseName } from '@certwright/dns-names';
import type { ApprovalWay, KeyType, Plan } from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { requestRecordChecks, type Tx, type PlanOwner } from '@certwright/core-schema';

export interface NewPlan {
  readonly accountId: string;
  readonly autoRenew: boolean;
  readonly muted: boolean;
  readonly paused: boolean;
  readonly downloadToken: string;
  /** Omitted: orders-v3. */
  readonly owner?: PlanOwner;
}

/** Requested terms; once stored, they get an id and never change. */
export interface NewTerms {
  readonly product: string;
  readonly dnsNames: readonly string[];
  readonly keyType: KeyType;
  readonly csr: Uint8Array;
  readonly spkiSha256: Uint8Array;
  readonly approverEmails: Readonly<Record<string, string>>;
  /** Omitted or null: any method that is in place. */
  readonly approvalWays?: Readonly<Record<string, ApprovalWay>> | null;
  /** Data of the owner's API, stored with the terms. */
  readonly ownerFacts?: object | null;
}

export type PlanChange = Pick<Plan, 'autoRenew' | 'muted' | 'paused'>;

/** A change of a plan may make approval records unnecessary: the subscriber checks them. */
@Injectable()
export class Plans {
  /** @returns the plan's id; its revision is 1 and it has no terms yet */
  async create(tx: Tx, plan: NewPlan): Promise<string> {
    const [row] = await tx.query<[{ id: string }]>(`${insertPlan} RETURNING id`, planColumns(plan));
    return row.id;
  }

  /**
   * The same with its first terms. A statement cannot change a row that it inserts: the caller sets `terms_id` of the plan with
   * the next one.
   */
  async createWithTerms(
    tx: Tx,
    plan: NewPlan,
    terms: NewTerms,
  ): Promise<{ readonly planId: string; readonly termsId: string }> {
    const [row] = await tx.query<[{ planId: string; termsId: string }]>(
      `WITH created AS (${insertPlan} RETURNING id),
       stored AS (
         INSERT INTO terms (plan_id, ${termsColumnNames})
         SELECT created.id, $7, $8, $9, $10, $11, $12, $13, $14 FROM created RETURNING id)
       SELECT created.id AS "planId", stored.id AS "termsId" FROM created CROSS JOIN stored`,
      [...planColumns(plan), ...termsColumns(terms)],
    );
    return row;
  }

  /**
   * Stores new terms and makes them the plan's.
   *
   * @returns their id
   */
  async setTerms(tx: Tx, planId: string, terms: NewTerms): Promise<string> {
    const [row] = await tx.query<[{ id: string }]>(
      `WITH stored AS (
         INSERT INTO terms (plan_id, ${termsColumnNames})
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id),
       moved AS (UPDATE plan SET terms_id = stored.id FROM stored WHERE plan.id = $1),
       requested AS (${requestRecordChecks('$1')})
       SELECT id FROM stored`,
      [planId, ...termsColumns(terms)],
    );
    return row.id;
  }

  /**
   * The plan cannot issue until it gets terms again.
   *
   * @param dnsNames remaining names of the plan; omitted: all previous ones, so its approval records stay
   */
  async clearTerms(tx: Tx, planId: string, dnsNames: readonly string[] | null = null): Promise<void> {
    await tx.query(
      `WITH requested AS (${requestRecordChecks('$1')}),
       unused AS (
         DELETE FROM approval_record_use USING approval_record AS record
         WHERE plan_id = $1 AND record.id = record_id AND NOT record.dns_name = ANY ($2::text[]))
       UPDATE plan SET terms_id = NULL WHERE id = $1`,
      [planId, dnsNames?.map(baseName) ?? null],
    );
  }

  /** @returns the new revision */
  async modify(tx: Tx, planId: string, change: PlanChange): Promise<number> {
    const [rows] = await tx.query<[{ revision: number }[], number]>(
      `WITH requested AS (${requestRecordChecks('$1')})
       UPDATE plan SET revision = revision + 1, auto_renew = $2, muted = $3, paused = $4
       WHERE id = $1 RETURNING revision`,
      [planId, change.autoRenew, change.muted, change.paused],
    );
    const [row] = rows;
    if (row === undefined) throw new Error(`plan ${planId} vanished while it was locked`);
    return row.revision;
  }

  /** Permanent: the plan issues no more certificates, and its download URL is removed. */
  async close(tx: Tx, planId: string): Promise<void> {
    await tx.query(
      `WITH requested AS (${requestRecordChecks('$1')})
       UPDATE plan SET closed_at = now() WHERE id = $1 AND closed_at IS NULL`,
      [planId],
    );
  }
}

const insertPlan = `
  INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token, owner)
  VALUES ($1, 1, $2, $3, $4, $5, $6)`;

const planColumns = (plan: NewPlan): unknown[] => [
  plan.accountId,
  plan.autoRenew,
  plan.muted,
  plan.paused,
  plan.downloadToken,
  plan.owner ?? 'orders-v3',
];

const termsColumnNames =
  'product, dns_names, key_type, csr, spki_sha256, approver_emails, approval_ways, owner_facts';

const termsColumns = (terms: NewTerms): unknown[] => [
  terms.product,
  terms.dnsNames,
  terms.keyType,
  terms.csr,
  terms.spkiSha256,
  JSON.stringify(terms.approverEmails),
  jsonOrNull(terms.approvalWays),
  jsonOrNull(terms.ownerFacts),
];

function jsonOrNull(value: object | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
