import {
  type ApprovalWay,
  isReplacedAfterRevocation,
  lastingReason,
  type OfferedTerms,
  paidWithout,
  replacementOfRevoked,
  type RevocationReason,
  revocationReasons,
} from '@certwright/issuance';
import { advanceIssuance, revokeCertificate } from '@certwright/jobs';
import { Injectable } from '@nestjs/common';
import { interruptIssuances, revokedKeyReason } from '../blocked-keys/blocked-keys';
import { reselectCurrent } from '../certificates/certificates';
import { openReplacements } from '../issuances/replacements';
import { makesKeys, requestKey } from '../key-requests/key-requests';
import { addToOutbox, type Tx } from '@certwright/core-schema';
import {
  type PaidColumns,
  paidColumns,
  paidOf,
  unusedCharge,
  unusedChargesOf,
  type UnusedRow,
} from '@certwright/billing';

export interface RevocationRequest {
  readonly planId: string;
  readonly certificateId: string;
  readonly reason: RevocationReason;
  /**
   * Who reports it. An operator's report about a key applies to every account, a subscriber's only to the own
   * account.
   */
  readonly requestedBy: 'subscriber' | 'operator';
}

interface LockedPlan extends PaidColumns {
  readonly account_id: string;
  readonly terms_id: string | null;
  readonly revision: number;
  readonly auto_renew: boolean;
  readonly paused: boolean;
  readonly closed_at: Date | null;
  readonly makes_keys: boolean;
  readonly dns_names: string[] | null;
  readonly approval_ways: Record<string, ApprovalWay> | null;
  readonly spki_sha256: Buffer | null;
  readonly product: string | null;
  /** Null: not sold by time. */
  readonly term_days: number | null;
  /** Unused charges that are about to be refunded. */
  readonly unused: readonly UnusedRow[];
  readonly now: Date;
}

interface CertificateRow {
  readonly id: string;
  readonly spki_sha256: Buffer;
  readonly revocation_reason: number | null;
  readonly revoked: boolean;
  readonly expired: boolean;
  readonly not_after: Date;
  /** Its own terms; null: it was issued elsewhere. */
  readonly own: OwnTerms | null;
}

interface OwnTerms extends OfferedTerms {
  readonly approvalWays: Record<string, ApprovalWay> | null;
}

/** Revocation by an API: `PendingRevocations` sends the request to the CA afterwards. */
@Injectable()
export class Revocations {
  /**
   * Revokes a certificate here, moves `current`, and orders the CA's revocation, all in the caller's transaction. A
   * repetition changes nothing. With keyCompromise all of the plan's certificates with this key are revoked, and the
   * key is blocked; this is also possible for a certificate that was revoked for another reason before. Imported
   * certificates are skipped: only their issuer can revoke them.
   *
   * @returns `missing` when the plan has no such certificate that was issued here; `expired` when it has expired: no
   *   row was written
   */
  async request(tx: Tx, request: RevocationRequest): Promise<'revoked' | 'expired' | 'missing'> {
    const plan = await lockPlan(tx, request.planId);
    const certificate = plan === null ? null : await certificateOf(tx, request);
    if (plan === null || certificate === null) return 'missing';
    if (certificate.expired) return 'expired';
    const { revoked, revocation_reason } = certificate;
    const reason = lastingReason(revoked ? (revocation_reason ?? 0) : null, request.reason);
    // Also when it is revoked for that reason already: an operator may report it after a subscriber did.
    const compromised = request.reason === revocationReasons.keyCompromise;
    if (compromised) await this.blockKey(tx, plan, certificate, request);
    if (revoked && reason === revocation_reason) return 'revoked';
    const key = compromised ? certificate.spki_sha256 : null;
    const currentId = await this.markRevoked(tx, request, reason, key);
    const wanted = { dnsNames: plan.dns_names ?? [], spkiSha256: plan.spki_sha256 };
    await reselectCurrent(tx, request.planId, wanted);
    if (currentId === null || !isReplacedAfterRevocation(asPlan(plan), request.reason)) return 'revoked';
    // An owner that makes keys does not use the key of a revoked certificate again.
    const needsKey = plan.makes_keys && plan.spki_sha256?.equals(certificate.spki_sha256) === true;
    if (needsKey) {
      await requestKey(tx, request.planId, 'rekey');
      return 'revoked';
    }
    const current =
      currentId === certificate.id
        ? certificate
        : await certificateOf(tx, { planId: request.planId, certificateId: currentId });
    if (current !== null) await this.openReplacement(tx, plan, current, request);
    return 'revoked';
  }

  private async blockKey(
    tx: Tx,
    { account_id }: LockedPlan,
    { spki_sha256 }: CertificateRow,
    { certificateId, requestedBy }: RevocationRequest,
  ): Promise<void> {
    const accountId = requestedBy === 'operator' ? '0' : account_id;
    const added = await tx.query<unknown[]>(
      `INSERT INTO blocked_key (spki_sha256, account_id, reason) VALUES ($1, $2, $3)
       ON CONFLICT DO NOTHING RETURNING 1 AS added`,
      [spki_sha256, accountId, `${revokedKeyReason}${certificateId}`],
    );
    if (added.length > 0) await interruptIssuances(tx, [spki_sha256], accountId);
  }

  /**
   * @param key SHA-256 of the SubjectPublicKeyInfo whose certificates are all revoked; null: only this certificate
   * @returns the id of the current certificate if it was revoked; else null
   */
  private async markRevoked(
    tx: Tx,
    { planId, certificateId }: RevocationRequest,
    reason: number,
    key: Buffer | null,
  ): Promise<string | null> {
    const [rows] = await tx.query<[{ id: string; is_current: boolean }[], number]>(
      `UPDATE certificate SET revoked_at = coalesce(revoked_at, statement_timestamp()), revocation_reason = $3, ca_revoked_at = NULL
       WHERE plan_id = $1 AND (id = $2 OR spki_sha256 = $4) AND NOT imported AND not_after >= clock_timestamp()
         AND (revoked_at IS NULL OR revocation_reason IS DISTINCT FROM $3) RETURNING id, is_current`,
      [planId, certificateId, reason, key],
    );
    for (const { id } of rows) await addToOutbox(tx, revokeCertificate(id, reason));
    return rows.find((row) => row.is_current)?.id ?? null;
  }

  /**
   * Once per certificate, however often it is revoked, and never charged; with a wake-up, since a caller waits for
   * it.
   */
  private async openReplacement(
    tx: Tx,
    plan: LockedPlan,
    { id: certificateId, own, not_after: notAfter }: CertificateRow,
    { planId }: RevocationRequest,
  ): Promise<void> {
    const present = presentTerms(plan);
    if (present === null) return;
    const terms = {
      present: { ...present, termDays: plan.term_days, isAvailable: true },
      own,
      paid: paidWithout(plan.unused.map(unusedCharge), paidOf(plan)),
    };
    const chosen = replacementOfRevoked(terms, { notAfter }, plan.now);
    if (chosen === null) return;
    const { termsId, expiresBy } = chosen;
    const { dnsNames, approvalWays } = termsId === own?.id ? own : present;
    const { account_id: accountId, revision } = plan;
    const replacement = {
      planId,
      accountId,
      termsId,
      revision,
      dnsNames,
      approvalWays,
      expiresBy,
      certificateId,
    };
    for (const id of await openReplacements(tx, [replacement])) await addToOutbox(tx, advanceIssuance(id, 0));
  }
}

/** Reads after the row is locked: one statement that waited for the lock would not see terms that were set meanwhile. */
async function lockPlan(tx: Tx, planId: string): Promise<LockedPlan | null> {
  await tx.query(`SELECT FROM plan WHERE id = $1 FOR UPDATE`, [planId]);
  const rows = await tx.query<LockedPlan[]>(
    `SELECT plan.account_id, plan.terms_id, plan.revision, plan.auto_renew, plan.paused, plan.closed_at,
       ${makesKeys} AS makes_keys, ${paidColumns}, terms.dns_names, terms.approval_ways, terms.spki_sha256, terms.product,
       product.term_days, clock_timestamp() AS now,
       (${unusedChargesOf('plan.id', `issuance.state NOT IN ('open', 'issued')`)}) AS unused
     FROM plan LEFT JOIN terms ON terms.id = plan.terms_id LEFT JOIN product ON product.name = terms.product
     WHERE plan.id = $1`,
    [planId],
  );
  return rows[0] ?? null;
}

async function certificateOf(
  tx: Tx,
  { planId, certificateId }: Pick<RevocationRequest, 'planId' | 'certificateId'>,
): Promise<CertificateRow | null> {
  const rows = await tx.query<CertificateRow[]>(
    `SELECT id, spki_sha256, revocation_reason, revoked_at IS NOT NULL AS revoked,
       not_after < clock_timestamp() AS expired, not_after,
       (SELECT jsonb_build_object('id', own.id::text, 'product', own.product, 'dnsNames', own.dns_names,
          'approvalWays', own.approval_ways)
        FROM issuance JOIN terms AS own ON own.id = issuance.terms_id
        WHERE issuance.id = certificate.issuance_id) AS own
     FROM certificate WHERE plan_id = $1 AND id = $2 AND NOT imported`,
    [planId, certificateId],
  );
  return rows[0] ?? null;
}

function presentTerms(plan: LockedPlan): OwnTerms | null {
  const { terms_id: id, product, dns_names: dnsNames, approval_ways: approvalWays } = plan;
  return id === null || product === null || dnsNames === null
    ? null
    : { id, product, dnsNames, approvalWays };
}

function asPlan({ auto_renew: autoRenew, paused, closed_at: closedAt }: LockedPlan) {
  return { autoRenew, paused, closedAt };
}
