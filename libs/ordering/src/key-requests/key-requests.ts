import type { KeyRequestReason, Tx } from '@certwright/core-schema';
import type { NewKeyInputs } from '@certwright/issuance';

/*
 * Requests for a new key, which the owner of a plan responds to with a modification of the plan. At most one per plan:
 * the caller of these functions holds the plan's row. Their ids are random, because owners see them: a sequence would
 * show how many requests others have.
 */

/** What is known about the keys of a plan whose owner makes them. */
export type KeyPlan = Pick<NewKeyInputs, 'atRenewal' | 'request'>;

/** False before the migration "managed-orders": then no plan has an owner that makes keys. */
export async function hasKeyRequests(reader: Pick<Tx, 'query'>): Promise<boolean> {
  const [row] = await reader.query<[{ exists: boolean }]>(
    `SELECT to_regclass('key_request') IS NOT NULL AS exists`,
  );
  return row.exists;
}

/**
 * `plan.makes_keys` of the plan of the surrounding statement. Before the migration "managed-orders" the column resolves
 * to that of `earlier`.
 */
export const makesKeys = `(
  SELECT own.makes_keys FROM (SELECT false AS makes_keys) AS earlier
  CROSS JOIN LATERAL (SELECT makes_keys FROM plan AS own_plan WHERE own_plan.id = plan.id) AS own)`;

/** By plan id; plans whose owner makes no keys are absent. */
export async function keyPlans(tx: Tx, planIds: readonly string[]): Promise<ReadonlyMap<string, KeyPlan>> {
  if (!(await hasKeyRequests(tx))) return new Map();
  const rows = await tx.query<
    { id: string; atRenewal: boolean; dueAt: Date | null; fallsBackAt: Date | null }[]
  >(
    `SELECT plan.id, new_key_at_renewal AS "atRenewal", due_at AS "dueAt", falls_back_at AS "fallsBackAt"
     FROM plan LEFT JOIN key_request ON plan_id = plan.id
     WHERE plan.id = ANY ($1::bigint[]) AND (new_key_at_renewal OR plan_id IS NOT NULL)`,
    [planIds],
  );
  return new Map(
    rows.map(({ id, atRenewal, dueAt, fallsBackAt }) => [
      id,
      { atRenewal, request: dueAt === null ? null : { dueAt, fallsBackAt } },
    ]),
  );
}

/**
 * Due at once.
 *
 * @param pending what becomes of the pending request, if there is one; a response to a replaced one is refused
 */
export async function requestKey(
  tx: Tx,
  planId: string,
  reason: Exclude<KeyRequestReason, 'renewal'>,
  pending: 'replace' | 'keep' = 'replace',
): Promise<void> {
  if (pending === 'replace') await endKeyRequest(tx, planId);
  await tx.query(
    `INSERT INTO key_request (plan_id, id, reason, due_at) OVERRIDING SYSTEM VALUE
     VALUES ($1, random_id(), $2, clock_timestamp()) ON CONFLICT DO NOTHING`,
    [planId, reason],
  );
}

/** A response to it is refused from now on. */
export async function endKeyRequest(tx: Tx, planId: string): Promise<void> {
  await tx.query(`DELETE FROM key_request WHERE plan_id = $1`, [planId]);
}

/** A request that waits for a later time, or for a payment, is due now. */
export async function retryKeyRequest(tx: Tx, planId: string): Promise<void> {
  await tx.query(
    `UPDATE key_request SET due_at = least(due_at, clock_timestamp()), unpaid_at = NULL WHERE plan_id = $1`,
    [planId],
  );
}

/** Due at once. A plan with a pending request keeps that. */
export async function requestRenewalKeys(
  tx: Tx,
  requests: readonly { readonly planId: string; readonly fallsBackAt: Date }[],
): Promise<void> {
  await tx.query(
    `INSERT INTO key_request (plan_id, id, reason, due_at, falls_back_at) OVERRIDING SYSTEM VALUE
     SELECT plan_id, random_id(), 'renewal', clock_timestamp(), falls_back_at
     FROM unnest($1::bigint[], $2::timestamptz[]) AS requested (plan_id, falls_back_at)
     ON CONFLICT DO NOTHING`,
    [requests.map(({ planId }) => planId), requests.map(({ fallsBackAt }) => fallsBackAt)],
  );
}

/** Ends requests whose renewal goes on, or that a modification has made unnecessary. */
export async function endRenewalKeyRequests(tx: Tx, planIds: readonly string[]): Promise<void> {
  await tx.query(`DELETE FROM key_request WHERE plan_id = ANY ($1::bigint[]) AND reason = 'renewal'`, [
    planIds,
  ]);
}
