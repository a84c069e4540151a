import { type RevocationReason, revocationReasons } from '@certwright/issuance';
import { revokeCertificate } from '@certwright/jobs';
import { Certificates, Issuances, Purchases } from '@certwright/ordering';
import { Outbox, type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { dnsNamesOf, type StoredCertObject } from '../cert-objects/cert-object';

/** Which instances are revoked: all but the current one, or that one too. */
export type RevocationScope = 'all but the current' | 'all';

/** An object's instances that are not expired, each counted by what it is now. */
export interface RevocationCount {
  /** Revoked, by whichever call, and not yet confirmed by the CA. */
  readonly unconfirmed: number;
  /** Neither revoked nor expired, imported ones among them. */
  readonly active: number;
  /** Imported, in the scope, and so left. */
  readonly imported: number;
}

/** Relying parties learn from it whether there is another certificate (RFC 5280, section 5.3.1). */
const reasonOf = {
  'all but the current': revocationReasons.superseded,
  all: revocationReasons.cessationOfOperation,
} as const satisfies Record<RevocationScope, RevocationReason>;

/** The certificate is the plan's current one, as callers see it: one past its end is not. */
const isCurrent = `certificate.is_current AND certificate.revoked_at IS NULL AND certificate.not_after >= clock_timestamp()`;

/** Whether a certificate is in the scope; $2: all. */
const inScope = `($2::boolean OR NOT (${isCurrent}))`;

/** Revokes instances of one object, all in the caller's transaction, who holds object and plan. */
@Injectable()
export class InstanceRevocation {
  constructor(
    private readonly outbox: Outbox,
    private readonly issuances: Issuances,
    private readonly purchases: Purchases,
    private readonly certificates: Certificates,
  ) {}

  /**
   * Every instance but the current one. What is pending goes on: it is to take the place of what is revoked.
   *
   * @returns how many were revoked now
   */
  async revokeOthers(tx: Tx, object: StoredCertObject): Promise<number> {
    const { planId } = object;
    // The flag may still be set on a certificate that has just expired: its successor must not be revoked with the
    // others.
    if (!(await hasCurrent(tx, planId))) await this.reselect(tx, object);
    return await this.revoke(tx, planId, 'all but the current');
  }

  /**
   * Every instance: pending ones and the paid term end, and no replacements are issued.
   *
   * @returns how many were revoked now
   */
  async revokeAll(tx: Tx, object: StoredCertObject): Promise<number> {
    const { planId } = object;
    await this.issuances.closeOpen(tx, planId, 'canceled');
    const revoked = await this.revoke(tx, planId, 'all');
    await this.purchases.endPaidTerm(tx, planId);
    // Only an imported one may be left.
    await this.reselect(tx, object);
    return revoked;
  }

  private async reselect(tx: Tx, object: StoredCertObject): Promise<void> {
    const wanted = { dnsNames: dnsNamesOf(object), spkiSha256: object.csr.spkiSha256 };
    await this.certificates.reselectCurrent(tx, object.planId, wanted);
  }

  /**
   * Revokes here, and orders the revocation by the CAs; a certificate that is revoked already keeps its date and
   * reason. All together: otherwise another certificate that is about to be revoked would become the current one in
   * between, be announced, and even be replaced. Those of one call have the same `revoked_at`: one mail reports them.
   *
   * @returns how many
   */
  private async revoke(tx: Tx, planId: string, scope: RevocationScope): Promise<number> {
    const reason = reasonOf[scope];
    const [rows] = await tx.query<[{ id: string }[], number]>(
      `UPDATE certificate SET revoked_at = statement_timestamp(), revocation_reason = $3
       WHERE plan_id = $1 AND ${inScope} AND NOT imported AND revoked_at IS NULL AND not_after >= clock_timestamp()
       RETURNING id`,
      [planId, scope === 'all', reason],
    );
    for (const { id } of rows) await this.outbox.add(tx, revokeCertificate(id, reason));
    return rows.length;
  }

  async count(tx: Tx, planId: string, scope: RevocationScope): Promise<RevocationCount> {
    const [row] = await tx.query<[RevocationCount]>(
      `SELECT count(*) FILTER (WHERE revoked_at IS NOT NULL AND ca_revoked_at IS NULL)::int AS unconfirmed,
         count(*) FILTER (WHERE revoked_at IS NULL)::int AS active,
         count(*) FILTER (WHERE revoked_at IS NULL AND imported AND ${inScope})::int AS imported
       FROM certificate WHERE plan_id = $1 AND not_after >= clock_timestamp()`,
      [planId, scope === 'all'],
    );
    return row;
  }
}

async function hasCurrent(tx: Tx, planId: string): Promise<boolean> {
  const rows = await tx.query<unknown[]>(`SELECT 1 FROM certificate WHERE plan_id = $1 AND ${isCurrent}`, [
    planId,
  ]);
  return rows.length > 0;
}
