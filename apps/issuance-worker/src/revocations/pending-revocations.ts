import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Transactions, type Tx } from '@certwright/core-schema';
import { lapsedRevocations, mailRevoked } from '@certwright/delivery';

/** A certificate that is revoked here, but not yet at the CA. */
export interface PendingRevocation {
  readonly certificateId: string;
  readonly accountId: string;
  /** Lower-case hex. */
  readonly serialNumber: string;
  /** DER. */
  readonly leaf: Buffer;
  /** The CA's own handle for it. */
  readonly caReference: string;
  /** CRLReason, RFC 5280, 5.3.1. */
  readonly reason: number;
  /** The issuing CA, by the product of its terms. */
  readonly certificateAuthority: string;
}

/** An expired certificate needs no revocation any more. */
const isPending = `certificate.revoked_at IS NOT NULL AND certificate.ca_revoked_at IS NULL AND certificate.not_after >= now()`;

@Injectable()
export class PendingRevocations {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /** @returns null when there is nothing to report to the CA, or no longer */
  async find(certificateId: string): Promise<PendingRevocation | null> {
    const rows: PendingRevocation[] = await this.database.query(
      `SELECT certificate.id AS "certificateId", certificate.account_id AS "accountId",
         certificate.serial_number AS "serialNumber", certificate.leaf, certificate.ca_reference AS "caReference",
         coalesce(certificate.revocation_reason, 0) AS reason, product.certificate_authority AS "certificateAuthority"
       FROM certificate
       JOIN issuance ON issuance.id = certificate.issuance_id
       JOIN terms ON terms.id = issuance.terms_id
       JOIN product ON product.name = terms.product
       WHERE certificate.id = $1 AND ${isPending}`,
      [certificateId],
    );
    return rows[0] ?? null;
  }

  /**
   * The CA has revoked it for this reason. When the reason was changed meanwhile, it stays pending. Its owner gets a
   * mail when every certificate that was revoked together with it is confirmed.
   *
   * @param reason as reported to the CA
   */
  async confirm(certificateId: string, reason: number): Promise<void> {
    await this.transactions.run(async (tx) => {
      await lockPlanOf(tx, certificateId);
      const [, confirmed] = await tx.query<[unknown, number]>(
        `UPDATE certificate SET ca_revoked_at = clock_timestamp()
         WHERE id = $1 AND coalesce(revocation_reason, 0) = $2 AND revoked_at IS NOT NULL AND ca_revoked_at IS NULL`,
        [certificateId, reason],
      );
      if (confirmed > 0) await mailRevoked(tx, certificateId);
    });
  }

  /** Mails revocations whose last certificate expired before its CA confirmed it. */
  async mailLapsed(): Promise<void> {
    for (const { planId, certificateId } of await lapsedRevocations(this.database, null))
      await this.transactions.run(async (tx) => {
        await lockPlanOf(tx, certificateId);
        // Another worker may have mailed it before the lock.
        for (const each of await lapsedRevocations(tx, planId)) await mailRevoked(tx, each.certificateId);
      });
  }

  /**
   * Revocations with a lost wake-up, in the order of ids.
   *
   * @param after last id of the previous page: an id that the CA refuses repeatedly does not hide others
   */
  async page(
    after: string,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly reason: number }[]> {
    return await this.database.query(
      `SELECT id, coalesce(revocation_reason, 0) AS reason FROM certificate
       WHERE ${isPending} AND id > $1 ORDER BY id LIMIT $2`,
      [after, limit],
    );
  }
}

async function lockPlanOf(tx: Tx, certificateId: string): Promise<void> {
  await tx.query(`SELECT 1 FROM plan WHERE id = (SELECT plan_id FROM certificate WHERE id = $1) FOR UPDATE`, [
    certificateId,
  ]);
}
