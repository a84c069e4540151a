import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { IntermediateName } from './keys/ca-key';

export interface RevokedSerial {
  /** Content bytes of the DER INTEGER. */
  readonly serialNumber: Buffer;
  readonly revokedAt: Date;
  /** CRLReason, RFC 5280, 5.3.1. */
  readonly reason: number | null;
}

export interface RevocationListDraft {
  /** CRLNumber, RFC 5280, 5.2.3: grows with every list. */
  readonly number: bigint;
  readonly revoked: readonly RevokedSerial[];
  readonly now: Date;
}

@Injectable()
export class RevocationLists {
  constructor(private readonly database: DataSource) {}

  /**
   * Makes and publishes a new list when the old one is due or lacks a revocation. One worker makes it; others, and
   * revocations, wait briefly.
   *
   * @param leadMs a list is renewed this long before its nextUpdate
   * @returns whether a list was made
   */
  async renew(
    issuer: IntermediateName,
    leadMs: number,
    make: (draft: RevocationListDraft) => Promise<{ readonly der: Buffer; readonly nextUpdate: Date }>,
  ): Promise<boolean> {
    return await this.database.transaction(async (tx) => {
      const [issuerRow] = await tx.query<[{ number: string; stale: boolean; now: Date }?]>(
        `SELECT crl_number + 1 AS number, clock_timestamp() AS now,
                crl IS NULL OR crl_made_at IS NULL
                OR crl_next_update < now() + $2::int * interval '1 millisecond' AS stale
         FROM ca_issuer WHERE name = $1 FOR UPDATE`,
        [issuer, leadMs],
      );
      if (issuerRow === undefined || !issuerRow.stale) return false;
      // Before the migration "ca-keys" the issuer resolves to that of `earlier`.
      // An expired certificate leaves the list (RFC 5280, 5: after it appeared on one list beyond its validity).
      const revoked: RevokedSerial[] = await tx.query(
        `SELECT serial_number AS "serialNumber", revoked_at AS "revokedAt", revocation_reason AS reason
         FROM (SELECT 'intermediate' AS issuer) AS earlier CROSS JOIN LATERAL (
           SELECT serial_number, revoked_at, revocation_reason, issuer FROM ca_signing
           WHERE revoked_at IS NOT NULL AND not_after > now() - interval '7 days') AS signing
         WHERE signing.issuer = $1
         ORDER BY revoked_at`,
        [issuer],
      );
      const made = await make({ number: BigInt(issuerRow.number), revoked, now: issuerRow.now });
      await tx.query(
        `UPDATE ca_issuer SET crl = $2, crl_number = $3, crl_next_update = $4, crl_made_at = $5 WHERE name = $1`,
        [issuer, made.der, issuerRow.number, made.nextUpdate, issuerRow.now],
      );
      return true;
    });
  }
}
