import type { Pool } from 'pg';

export interface IssuedCertificate {
  readonly id: string;
  readonly planId: string;
  readonly issuanceId: string;
  readonly serialNumber: string;
  readonly sha256: string;
  readonly spkiSha256: string;
  readonly dnsNames: readonly string[];
  readonly notBefore: number;
  readonly notAfter: number;
  readonly createdMs: number;
  readonly revokedMs: number | null;
  readonly isCurrent: boolean;
}

/** Certificates of all plans in the database, by plan, oldest first. */
export async function issuedByPlan(
  auditor: Pool,
): Promise<ReadonlyMap<string, readonly IssuedCertificate[]>> {
  const { rows } = await auditor.query<IssuedCertificate>(
    `SELECT id, plan_id AS "planId", issuance_id AS "issuanceId", serial_number AS "serialNumber",
       encode(sha256, 'hex') AS sha256, encode(spki_sha256, 'hex') AS "spkiSha256", dns_names AS "dnsNames",
       (extract(epoch FROM not_before) * 1000)::float8 AS "notBefore",
       (extract(epoch FROM not_after) * 1000)::float8 AS "notAfter",
       (extract(epoch FROM created_at) * 1000)::float8 AS "createdMs",
       (extract(epoch FROM revoked_at) * 1000)::float8 AS "revokedMs", is_current AS "isCurrent"
     FROM certificate ORDER BY created_at, id`,
  );
  const byPlan = new Map<string, IssuedCertificate[]>();
  for (const row of rows) {
    const own = byPlan.get(row.planId) ?? [];
    own.push(row);
    byPlan.set(row.planId, own);
  }
  return byPlan;
}

/** End of its usability. */
export const usableUntil = ({ notAfter, revokedMs }: IssuedCertificate) =>
  Math.min(notAfter, revokedMs ?? Infinity);
