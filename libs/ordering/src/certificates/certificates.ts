import { bestCertificate, type Certificate, type Wanted } from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Transactions, type Tx } from '@certwright/core-schema';
import { announceCurrent } from './announce-current';

export interface StoredCertificate extends Certificate {
  readonly planId: string;
  readonly isCurrent: boolean;
  /** SHA-256 over the DER certificate. */
  readonly sha256: Uint8Array;
  /** DER. */
  readonly leaf: Buffer;
  /** DER; the first certifies the leaf, each next one the one before it; without the root. */
  readonly chain: readonly Buffer[];
  /** DER. */
  readonly root: Buffer;
}

const columns = `
  certificate.id, certificate.plan_id AS "planId", certificate.is_current AS "isCurrent",
  certificate.dns_names AS "dnsNames", certificate.key_type AS "keyType", certificate.spki_sha256 AS "spkiSha256",
  certificate.sha256, certificate.not_before AS "notBefore", certificate.not_after AS "notAfter",
  certificate.revoked_at AS "revokedAt", certificate.leaf, certificate_chain.chain, certificate_chain.root`;

const certificates = `certificate JOIN certificate_chain ON certificate_chain.sha256 = certificate.chain_sha256`;

/** An expired certificate is never the current one, regardless of the flag. */
const currentNow = `certificate.is_current AND certificate.revoked_at IS NULL AND certificate.not_after >= now()`;

@Injectable()
export class Certificates {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /** The current certificate of each plan that has one. */
  async currentOf(
    planIds: readonly string[],
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<StoredCertificate[]> {
    return await reader.query(
      `SELECT ${columns} FROM ${certificates} WHERE certificate.plan_id = ANY($1::bigint[]) AND ${currentNow}`,
      [planIds],
    );
  }

  /** @returns null when no open plan has this token; else its current certificate, null when there is none */
  async currentByDownloadToken(
    token: string,
  ): Promise<{ readonly current: StoredCertificate | null } | null> {
    const rows: (StoredCertificate | { readonly id: null })[] = await this.database.query(
      `SELECT ${columns} FROM plan LEFT JOIN (${certificates}) ON certificate.plan_id = plan.id AND ${currentNow}
       WHERE plan.download_token = $1 AND plan.closed_at IS NULL`,
      [token],
    );
    const [row] = rows;
    if (row === undefined) return null;
    return { current: row.id === null ? null : row };
  }

  async ofPlan(
    planId: string,
    id: string,
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<StoredCertificate | null> {
    const rows: StoredCertificate[] = await reader.query(
      `SELECT ${columns} FROM ${certificates} WHERE certificate.plan_id = $1 AND certificate.id = $2`,
      [planId, id],
    );
    return rows[0] ?? null;
  }

  /**
   * One page of a plan's certificates, newest first.
   *
   * @param after id of the last certificate of the page before; null for the first page
   */
  async page(planId: string, after: string | null, limit: number): Promise<StoredCertificate[]> {
    return await this.database.query(
      `SELECT ${columns} FROM ${certificates}
       WHERE certificate.plan_id = $1 AND ($2::bigint IS NULL OR (certificate.created_at, certificate.id) < (
         SELECT created_at, id FROM certificate WHERE plan_id = $1 AND id = $2))
       ORDER BY certificate.created_at DESC, certificate.id DESC LIMIT $3`,
      [planId, after, limit],
    );
  }

  /** Selects the best certificate again after names, key or validity changed. The caller holds the plan's row. */
  async reselectCurrent(tx: Tx, planId: string, wanted: Wanted): Promise<void> {
    await reselectCurrent(tx, planId, wanted);
  }

  /**
   * Clears the flag of expired certificates and sets it for the best remaining one. Readers ignore an expired
   * certificate at once; this updates the rows afterwards. Without a remaining one, a renewal is due.
   *
   * @returns number of plans checked
   */
  async reselectExpired(limit: number): Promise<number> {
    const plans: { id: string }[] = await this.database.query(
      `SELECT plan_id AS id FROM certificate WHERE is_current AND not_after < now() ORDER BY not_after LIMIT $1`,
      [limit],
    );
    for (const { id } of plans) {
      await this.transactions.run(async (tx) => {
        // First: one statement that waited for the lock would not see terms that were set meanwhile.
        await tx.query(`SELECT FROM plan WHERE id = $1 FOR UPDATE`, [id]);
        const [plan] = await tx.query<[{ dns_names: string[] | null; spki_sha256: Buffer | null }]>(
          `SELECT terms.dns_names, terms.spki_sha256 FROM plan LEFT JOIN terms ON terms.id = plan.terms_id
           WHERE plan.id = $1`,
          [id],
        );
        await reselectCurrent(tx, id, { dnsNames: plan.dns_names ?? [], spkiSha256: plan.spki_sha256 });
      });
    }
    return plans.length;
  }
}

/** See `Certificates.reselectCurrent`. */
export async function reselectCurrent(tx: Tx, planId: string, wanted: Wanted): Promise<void> {
  const { candidates, now } = await validCertificates(tx, planId, wanted);
  const best = bestCertificate(candidates, wanted, now);
  const moved = await moveCurrent(tx, planId, best?.id ?? null);
  if (moved !== 'unchanged') await announceCurrent(tx, planId, best, moved === 'lapsed' ? now : null);
}

/**
 * The plan's certificates that are neither revoked nor expired, oldest first, and the database's clock. One that cannot
 * match has no names: there can be many imported certificates, of a thousand names each.
 *
 * @returns `hasCurrent`: one is marked as current, which may have expired just now
 */
export async function validCertificates(
  tx: Tx,
  planId: string,
  { dnsNames, spkiSha256 }: Wanted,
): Promise<{
  readonly candidates: readonly Certificate[];
  readonly hasCurrent: boolean;
  readonly now: Date;
}> {
  const rows: (Omit<Certificate, 'id'> & { id: string | null; now: Date; hasCurrent: boolean })[] =
    await tx.query(
      `SELECT clock.now, clock."hasCurrent", certificate.id,
            CASE WHEN certificate.spki_sha256 = $2 AND cardinality(certificate.dns_names) = $3
              THEN certificate.dns_names ELSE '{}' END AS "dnsNames",
            certificate.key_type AS "keyType", certificate.spki_sha256 AS "spkiSha256",
            certificate.not_before AS "notBefore", certificate.not_after AS "notAfter",
            certificate.revoked_at AS "revokedAt"
     FROM (SELECT clock_timestamp() AS now,
             EXISTS (SELECT FROM certificate WHERE plan_id = $1 AND is_current) AS "hasCurrent") AS clock
     LEFT JOIN certificate ON certificate.plan_id = $1 AND certificate.revoked_at IS NULL AND certificate.not_after >= clock.now
     ORDER BY certificate.created_at, certificate.id`,
      [planId, spkiSha256, new Set(dnsNames).size],
    );
  const [first] = rows;
  if (first === undefined) throw new Error('the database returned no time');
  const { hasCurrent, now } = first;
  const candidates = rows.filter((row): row is typeof row & { readonly id: string } => row.id !== null);
  return { candidates, hasCurrent, now };
}

/**
 * Two statements: the index that allows one current certificate per plan is checked for each changed row.
 *
 * @returns `lapsed`: there is no current one any more, and the last one had expired
 */
export async function moveCurrent(
  tx: Tx,
  planId: string,
  certificateId: string | null,
): Promise<'moved' | 'lapsed' | 'unchanged'> {
  const [[cleared]] = await tx.query<[[{ hasExpired: boolean }?], number]>(
    `UPDATE certificate SET is_current = false WHERE plan_id = $1 AND is_current AND id IS DISTINCT FROM $2
     RETURNING revoked_at IS NULL AND not_after < clock_timestamp() AS "hasExpired"`,
    [planId, certificateId],
  );
  if (certificateId === null && cleared?.hasExpired === true) return 'lapsed';
  if (certificateId === null) return cleared === undefined ? 'unchanged' : 'moved';
  const [, set] = await tx.query<[unknown, number]>(
    `UPDATE certificate SET is_current = true WHERE id = $1 AND NOT is_current`,
    [certificateId],
  );
  return cleared === undefined && set === 0 ? 'unchanged' : 'moved';
}
