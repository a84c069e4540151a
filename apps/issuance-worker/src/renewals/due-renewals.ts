import {
  type ApprovalWay,
  lapsedDays,
  paidWithout,
  type RenewalInputs,
  revocationReasons,
  type SoldProduct,
} from '@certwright/issuance';
import { type PaidColumns, paidColumns, paidOf } from '@certwright/billing';
import { unusedCharge, unusedChargesOf, type UnusedRow } from '@certwright/billing';
import type { Tx } from '@certwright/core-schema';
import { type KeyPlan, keyPlans } from '@certwright/ordering';

export interface DueRenewal {
  readonly planId: string;
  readonly accountId: string;
  readonly revision: number;
  /** By id: the present terms, and those of the current certificate. */
  readonly terms: ReadonlyMap<string, IssuableTerms>;
  /** Of the present terms; null without any. */
  readonly product: SoldProduct | null;
  /**
   * The certificate to replace: that of `inputs.current`, or a revoked or expired one that had replaced it. Null: there
   * is none.
   */
  readonly certificateId: string | null;
  readonly inputs: RenewalInputs;
  readonly now: Date;
}

export interface IssuableTerms {
  readonly dnsNames: readonly string[];
  readonly approvalWays: Readonly<Record<string, ApprovalWay>> | null;
}

interface TermsRow extends IssuableTerms {
  readonly id: string;
  readonly product: string;
}

interface DueRow extends PaidColumns {
  readonly id: string;
  readonly account_id: string;
  readonly revision: number;
  readonly auto_renew: boolean;
  readonly terms_id: string | null;
  readonly dns_names: string[] | null;
  readonly approval_ways: Record<string, ApprovalWay> | null;
  readonly product: string | null;
  readonly available: boolean;
  readonly key_blocked: boolean;
  readonly term_days: number | null;
  readonly price_cents: number;
  readonly wildcard_price_cents: number;
  readonly currency: string;
  readonly own: TermsRow | null;
  readonly unused: readonly UnusedRow[];
  readonly is_key_of_current: boolean;
  readonly certificate_id: string | null;
  readonly replaced_id: string | null;
  readonly not_before: Date | null;
  readonly not_after: Date | null;
  readonly window_end: Date | null;
  readonly opened_at: Date | null;
  readonly replaced: boolean;
  readonly failures: number;
  readonly failed_at: Date | null;
  readonly now: Date;
}

/** Inputs of the decision; the caller locks the plans. */
export async function dueRenewals(
  tx: Tx,
  planIds: readonly string[],
  now: Date | null,
): Promise<readonly DueRenewal[]> {
  const rows = await tx.query<DueRow[]>(factsStatement, [planIds, now]);
  const keys = await keyPlans(tx, planIds);
  return rows.map((row) => dueRenewal(row, keys.get(row.id) ?? null));
}

/**
 * A replacement that was revoked or has expired is itself to be replaced: the certificate before it, which is the
 * current one again, may have one replacement only. One that is no longer needed is not.
 *
 * An attempt that was ended by a pause or by newer terms is not a failure. All issuances of a plan are read, by its
 * index: when queried for the open ones alone, PostgreSQL may read those of all plans instead. The certificate's own
 * terms count only for paid plans, and are not read otherwise. Charges of issuances without a certificate that were
 * not refunded do not count as payment: the next purchase takes them over. A blocked key counts after a failure, which
 * the owner sees.
 */
const factsStatement = `
  SELECT plan.id, plan.account_id, plan.revision, plan.auto_renew, ${paidColumns}, clock.now,
    terms.id AS terms_id, terms.dns_names, terms.approval_ways, terms.product,
    product.available AND account.disabled_at IS NULL AS available, product.term_days, product.price_cents, product.wildcard_price_cents, product.currency,
    (SELECT jsonb_build_object('id', own.id::text, 'product', own.product, 'dnsNames', own.dns_names,
       'approvalWays', own.approval_ways)
     FROM issuance JOIN terms AS own ON own.id = issuance.terms_id
     WHERE plan.paid_through IS NOT NULL AND issuance.id = certificate.issuance_id) AS own,
    CASE WHEN plan.paid_through IS NULL THEN '[]' ELSE (
      ${unusedChargesOf('plan.id', `issuance.state NOT IN ('open', 'issued')`)}) END AS unused,
    coalesce(terms.spki_sha256 = replaced.spki_sha256, false) AS is_key_of_current,
    CASE WHEN attempts.failures = 0 THEN false ELSE EXISTS (
      SELECT FROM blocked_key WHERE blocked_key.spki_sha256 = terms.spki_sha256
        AND blocked_key.account_id IN (0, plan.account_id)) END AS key_blocked,
    certificate.id AS certificate_id, replaced.id AS replaced_id, certificate.not_before, certificate.not_after,
    (SELECT window_end FROM renewal_info
     WHERE product.term_days IS NOT NULL AND certificate_id = certificate.id) AS window_end,
    attempts.opened_at, coalesce(attempts.replaced, false) AS replaced, attempts.failures, attempts.failed_at
  FROM (SELECT coalesce($2::timestamptz, clock_timestamp()) AS now) AS clock
  CROSS JOIN plan
  JOIN account ON account.id = plan.account_id
  LEFT JOIN terms ON terms.id = plan.terms_id
  LEFT JOIN product ON product.name = terms.product
  LEFT JOIN LATERAL (
    SELECT id, issuance_id, spki_sha256, not_before, not_after FROM certificate
    WHERE certificate.plan_id = plan.id AND certificate.revoked_at IS NULL
      AND CASE WHEN certificate.is_current THEN certificate.not_after >= clock.now
        ELSE certificate.not_after >= clock.now - interval '${lapsedDays} days'
          AND NOT EXISTS (SELECT FROM certificate AS other WHERE other.plan_id = plan.id AND other.is_current) END
    ORDER BY certificate.not_after DESC LIMIT 1) AS certificate ON true
  CROSS JOIN LATERAL (
    WITH RECURSIVE replaced (id, spki_sha256, place) AS (
      SELECT certificate.id, certificate.spki_sha256, 0
      UNION ALL
      SELECT next.id, next.spki_sha256, place + 1
      FROM replaced
      JOIN issuance ON issuance.replaces_certificate_id = replaced.id AND issuance.state = 'issued'
      JOIN certificate AS next ON next.issuance_id = issuance.id
      WHERE CASE WHEN next.revoked_at IS NULL THEN next.not_after < clock.now
        ELSE next.revocation_reason IS DISTINCT FROM ${revocationReasons.cessationOfOperation} END)
    SELECT id, spki_sha256 FROM replaced ORDER BY place DESC LIMIT 1) AS replaced
  CROSS JOIN LATERAL (
    SELECT max(opened_at) FILTER (WHERE state = 'open') AS opened_at,
      bool_or(state = 'issued') FILTER (WHERE replaces) AS replaced,
      (count(*) FILTER (WHERE replaces AND failed))::int AS failures,
      max(closed_at) FILTER (WHERE replaces AND failed AND isfinite(closed_at)) AS failed_at
    FROM (
      SELECT state, opened_at, closed_at, coalesce(replaces_certificate_id = replaced.id, false) AS replaces,
        state = 'failed' OR (state = 'canceled' AND last_error IS NOT NULL) AS failed
      FROM issuance WHERE issuance.plan_id = plan.id) AS issuance) AS attempts
  WHERE plan.id = ANY($1::bigint[])`;

function dueRenewal(row: DueRow, keys: KeyPlan | null): DueRenewal {
  const present = presentTerms(row);
  return {
    planId: row.id,
    accountId: row.account_id,
    revision: row.revision,
    terms: new Map([present, row.own].filter((terms) => terms !== null).map((terms) => [terms.id, terms])),
    product: soldProduct(row),
    certificateId: row.replaced_id,
    inputs: {
      autoRenew: row.auto_renew,
      present:
        present === null
          ? null
          : { ...present, termDays: row.term_days, isAvailable: row.available && !row.key_blocked },
      own: row.own,
      paid: paidWithout(row.unused.map(unusedCharge), paidOf(row)),
      open: row.opened_at === null ? null : { openedAt: row.opened_at },
      current: currentOf(row),
      replacement: { issued: row.replaced, failures: row.failures, failedAt: row.failed_at },
      newKey: keys === null ? null : { ...keys, isKeyOfCurrent: row.is_key_of_current },
    },
    now: row.now,
  };
}

function presentTerms({ terms_id: id, dns_names, approval_ways, product }: DueRow): TermsRow | null {
  if (id === null || dns_names === null || product === null) return null;
  return { id, product, dnsNames: dns_names, approvalWays: approval_ways };
}

function soldProduct(row: DueRow): SoldProduct | null {
  const { product: name, term_days, price_cents, wildcard_price_cents, currency } = row;
  if (name === null) return null;
  return {
    name,
    termDays: term_days,
    priceCents: price_cents,
    wildcardPriceCents: wildcard_price_cents,
    currency,
  };
}

function currentOf(row: DueRow): RenewalInputs['current'] {
  const { certificate_id: id, not_before: notBefore, not_after: notAfter, window_end: windowEnd } = row;
  return id === null || notBefore === null || notAfter === null
    ? null
    : { id, notBefore, notAfter, windowEnd };
}
