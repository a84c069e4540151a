import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Lease, LeaseLost, underLease } from '../issuances/lease';

export interface SigningIntent {
  /** Content octets of the DER INTEGER. */
  readonly serialNumber: Uint8Array;
  /** TBSCertificate, DER. */
  readonly tbs: Uint8Array;
  readonly notAfter: Date;
}

/** The ledger of what the built-in CA signs: written before it signs. */
@Injectable()
export class CaSignings {
  constructor(private readonly database: DataSource) {}

  /**
   * Records what is about to be signed for an issuance; what was recorded first stands.
   *
   * @throws LeaseLost when the caller may not write any more and nothing stands
   */
  async record(lease: Lease, { serialNumber, tbs, notAfter }: SigningIntent): Promise<void> {
    const rows: unknown[] = await this.database.query(
      `INSERT INTO ca_signing (issuance_id, serial_number, tbs, not_after)
       SELECT issuance.id, $3, $4, $5 FROM issuance WHERE ${underLease('$1', '$2')}
       ON CONFLICT (issuance_id) DO NOTHING RETURNING 1 AS recorded`,
      [lease.issuanceId, lease.token, serialNumber, tbs, notAfter],
    );
    if (rows.length === 0 && (await this.tbsOf(lease.issuanceId)) === null) throw new LeaseLost(lease);
  }

  /** @returns the recorded TBSCertificate, DER; null when nothing was recorded */
  async tbsOf(issuanceId: string): Promise<Buffer | null> {
    const rows: { tbs: Buffer }[] = await this.database.query(
      `SELECT tbs FROM ca_signing WHERE issuance_id = $1`,
      [issuanceId],
    );
    return rows[0]?.tbs ?? null;
  }
}
