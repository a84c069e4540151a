import type { NameApproval } from '@certwright/issuance';
import { toStoredApproval } from '@certwright/outcome-messages';
import { LeaseLost } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { JointWork, type Lease, Transactions, type Tx, underLease } from '@certwright/core-schema';

export interface SigningIntent {
  /** Content bytes of the DER INTEGER. */
  readonly serialNumber: Uint8Array;
  /** TBSCertificate, DER. */
  readonly tbs: Uint8Array;
  /** Name of the intermediate whose name is in the TBSCertificate. */
  readonly issuer: string;
  readonly notAfter: Date;
}

export type RecordedSigning = Pick<SigningIntent, 'tbs' | 'issuer'>;

export interface Recorded {
  readonly signing: RecordedSigning;
  /** False: the lease is lost, and only an earlier call stored something. */
  readonly isHeld: boolean;
}

/** Of every signing before the migration "ca-keys": a column that is missing resolves to that of `earlier`. */
const firstIntermediate = 'intermediate';

/** Ledger of the built-in CA's signatures, written before signing. */
@Injectable()
export class CaSignings {
  private readonly recording: JointWork<Recording, RecordedOrHeld>;

  constructor(private readonly database: DataSource) {
    this.recording = new JointWork(new Transactions(database), {
      alone: async (recording) => await recordIn(database, recording),
      inTransaction: recordIn,
    });
  }

  /**
   * Records what will be signed for an issuance; the first record is kept. The same statement stores in the issuance that it
   * was submitted.
   *
   * @param approvals omitted: those of the issuance stay
   * @throws LeaseLost when the caller may no longer write and nothing is recorded
   */
  async record(lease: Lease, intent: SigningIntent, approvals?: readonly NameApproval[]): Promise<Recorded> {
    const row = await this.recording.run({ lease, intent, approvals });
    const { tbs, issuer } = intent;
    if (row.is_new) return { signing: { tbs, issuer }, isHeld: true };
    const signing = await this.recordedFor(lease.issuanceId);
    if (signing === null) throw new LeaseLost('issuance', lease.issuanceId, lease.token);
    return { signing, isHeld: row.is_held };
  }

  /**
   * Revokes the certificate of an issuance and marks the published list as outdated. Idempotent; another reason
   * replaces the first.
   *
   * @param reason CRLReason, RFC 5280, 5.3.1
   */
  async revoke(issuanceId: string, reason: number): Promise<void> {
    // The update locks the issuer's row: a list in progress is finished first, and the next one includes the
    // revocation.
    await this.database.query(
      `WITH revoked AS (
         UPDATE ca_signing SET revoked_at = coalesce(revoked_at, clock_timestamp()), revocation_reason = $2
         WHERE issuance_id = $1 AND (revoked_at IS NULL OR revocation_reason IS DISTINCT FROM $2) RETURNING issuance_id)
       UPDATE ca_issuer SET crl_made_at = NULL WHERE name IN (
         SELECT (SELECT issuer FROM ca_signing WHERE issuance_id = revoked.issuance_id)
         FROM revoked CROSS JOIN (SELECT '${firstIntermediate}' AS issuer) AS earlier)`,
      [issuanceId, reason],
    );
    if ((await this.recordedFor(issuanceId)) === null) {
      throw new Error(`nothing was signed for issuance ${issuanceId}`);
    }
  }

  /** @returns the recorded TBSCertificate (DER), and which intermediate signs it; null when nothing was recorded */
  async recordedFor(issuanceId: string): Promise<RecordedSigning | null> {
    const rows: RecordedSigning[] = await this.database.query(
      `SELECT signing.tbs, signing.issuer FROM (SELECT '${firstIntermediate}' AS issuer) AS earlier CROSS JOIN LATERAL
         (SELECT tbs, issuer FROM ca_signing WHERE issuance_id = $1) AS signing`,
      [issuanceId],
    );
    return rows[0] ?? null;
  }
}

interface Recording {
  readonly lease: Lease;
  readonly intent: SigningIntent;
  readonly approvals: readonly NameApproval[] | undefined;
}

interface RecordedOrHeld {
  readonly is_held: boolean;
  readonly is_new: boolean;
}

async function recordIn(
  database: Pick<Tx, 'query'>,
  { lease, intent, approvals }: Recording,
): Promise<RecordedOrHeld> {
  const { serialNumber, tbs, issuer, notAfter } = intent;
  // The column has this default; it is missing before the migration "ca-keys".
  const [column, value, values] =
    issuer === firstIntermediate ? ['', '', []] : [', issuer', ', $7', [issuer]];
  const [row] = await database.query<[RecordedOrHeld]>(
    `WITH held AS (
         UPDATE issuance SET ca_reference = issuance.id::text, approvals = coalesce($6::jsonb, approvals), last_error = NULL
         WHERE ${underLease('$1', '$2')} RETURNING issuance.id),
       recorded AS (
         INSERT INTO ca_signing (issuance_id, serial_number, tbs, not_after${column})
         SELECT held.id, $3, $4, $5${value} FROM held ON CONFLICT (issuance_id) DO NOTHING RETURNING issuance_id)
       SELECT EXISTS (SELECT 1 FROM held) AS is_held, EXISTS (SELECT 1 FROM recorded) AS is_new`,
    [
      ...[lease.issuanceId, lease.token, serialNumber, tbs, notAfter],
      ...[approvals === undefined ? null : JSON.stringify(approvals.map(toStoredApproval)), ...values],
    ],
  );
  return row;
}
