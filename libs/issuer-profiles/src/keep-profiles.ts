import { keyIdentifiers } from '@certwright/ct';
import { sha256 } from '@certwright/pki';
import type { DataSource, EntityManager } from 'typeorm';
import type { CcadbRecord } from './ccadb-records';
import { knownOrganizations, knownOrganizationsAsOf, knownOrganizationsSource } from './known-organizations';
import { ProfileSet, type StoredProfile } from './profile-set';

/** One lock for all writers of profiles, across processes. */
const profilesLock = 7_308_604_104;

export interface ImportedFrom {
  /** Day of the file, YYYY-MM-DD. */
  readonly asOf: string;
  readonly source: string;
}

export interface ImportResult {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Issuers whose profile was found now. */
  readonly matched: number;
  /** Issuers that have a profile of their key, of how many. */
  readonly profiled: number;
  readonly issuers: number;
}

/** What is known of issuers beside their certificates. */
export class IssuerProfiles {
  constructor(private readonly database: DataSource) {}

  /** All of it, or nothing. What the file has no column for stays as it is, and so do profiles that are not in it. */
  async import(records: readonly CcadbRecord[], from: ImportedFrom): Promise<ImportResult> {
    return await this.locked(async (tx) => {
      const set = new ProfileSet(await tx.query<StoredProfile[]>(selectStatement));
      set.take(records);
      const { added, changed, same } = set.touched();
      for (const profile of added) await tx.query(insertStatement, valuesOf(profile, from));
      for (const profile of changed)
        await tx.query(updateStatement, [...valuesOf(profile, from), profile.id]);
      await tx.query(
        `UPDATE ct_issuer_profile SET as_of = $2, source = $3 WHERE id = ANY ($1::int[]) AND as_of <= $2`,
        [same.map(({ id }) => id), from.asOf, from.source],
      );
      const matched = await match(tx);
      await discloseCrls(tx);
      const [counts] = await tx.query<[{ issuers: number; profiled: number }]>(
        `SELECT count(*)::int AS issuers, count(profile.id)::int AS profiled
         FROM ct_issuer LEFT JOIN ct_issuer_profile AS profile USING (spki_sha256)`,
      );
      return { added: added.length, changed: changed.length, unchanged: same.length, matched, ...counts };
    });
  }

  /** Of organizations, as included, unless newer facts are there. @returns rows that changed */
  async keepKnownOrganizations(): Promise<number> {
    return await this.locked(async (tx) => {
      let changed = 0;
      for (const { organizations, ...facts } of knownOrganizations) {
        for (const organization of organizations) {
          const rows = await tx.query<unknown[]>(organizationStatement, [
            organization,
            facts.friendlyName,
            facts.website,
            facts.caaDomains,
            facts.operatorName,
            facts.operatorWebsite,
            facts.problemReporting,
            knownOrganizationsAsOf,
            knownOrganizationsSource,
          ]);
          changed += rows.length;
        }
      }
      return changed;
    });
  }

  /** Profiles of which only a digest of the key was known, once an issuer with that key appears. @returns how many */
  async match(): Promise<number> {
    return await this.locked(match);
  }

  private async locked<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return await this.database.transaction(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock($1)`, [profilesLock]);
      return await work(tx);
    });
  }
}

interface Unprofiled {
  readonly spkiSha256: Buffer;
  readonly spkiDer: Buffer | null;
  readonly certificateDer: Buffer | null;
}

async function match(tx: EntityManager): Promise<number> {
  const issuers = await tx.query<Unprofiled[]>(
    `SELECT DISTINCT ON (spki_sha256) spki_sha256 AS "spkiSha256", spki_der AS "spkiDer", certificate_der AS "certificateDer"
     FROM ct_issuer AS issuer
     WHERE spki_der IS NOT NULL AND NOT EXISTS (
       SELECT FROM ct_issuer_profile AS profile WHERE profile.spki_sha256 = issuer.spki_sha256)`,
  );
  let matched = 0;
  for (const { spkiSha256, spkiDer, certificateDer } of issuers) {
    const certificate = certificateDer === null ? null : sha256(certificateDer);
    const [, updated] = await tx.query<[unknown, number]>(
      `UPDATE ct_issuer_profile SET spki_sha256 = $1 WHERE id = (
         SELECT id FROM ct_issuer_profile
         WHERE spki_sha256 IS NULL AND ($2::bytea = ANY (certificates) OR subject_key_id = ANY ($3::bytea[]))
         ORDER BY $2::bytea = ANY (certificates) DESC NULLS LAST, id LIMIT 1)`,
      [spkiSha256, certificate, spkiDer === null ? [] : keyIdentifiers(spkiDer)],
    );
    matched += updated;
  }
  return matched;
}

const selectStatement = `
  SELECT id, spki_sha256 AS "spkiSha256", subject_key_id AS "subjectKeyId", certificates, friendly_name AS "friendlyName", website,
    caa_domains AS "caaDomains", operator_name AS "operatorName", operator_website AS "operatorWebsite",
    problem_reporting AS "problemReporting", full_crls AS "fullCrls", partitioned_crls AS "partitionedCrls"
  FROM ct_issuer_profile WHERE organization IS NULL ORDER BY id`;

const columns = `spki_sha256, subject_key_id, certificates, friendly_name, website, caa_domains, operator_name, operator_website,
  problem_reporting, full_crls, partitioned_crls, as_of, source`;

const insertStatement = `
  INSERT INTO ct_issuer_profile (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;

const updateStatement = `
  UPDATE ct_issuer_profile SET (${columns}) = ROW ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::date, $13) WHERE id = $14`;

const organizationStatement = `
  INSERT INTO ct_issuer_profile (organization, friendly_name, website, caa_domains, operator_name, operator_website,
    problem_reporting, as_of, source)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  ON CONFLICT (organization) DO UPDATE SET friendly_name = excluded.friendly_name, website = excluded.website,
    caa_domains = excluded.caa_domains, operator_name = excluded.operator_name, operator_website = excluded.operator_website,
    problem_reporting = excluded.problem_reporting, as_of = excluded.as_of, source = excluded.source
  WHERE ct_issuer_profile.as_of < excluded.as_of
  RETURNING id`;

function valuesOf(profile: StoredProfile, { asOf, source }: ImportedFrom): unknown[] {
  return [
    profile.spkiSha256,
    profile.subjectKeyId,
    profile.certificates,
    profile.friendlyName,
    profile.website,
    profile.caaDomains,
    profile.operatorName,
    profile.operatorWebsite,
    profile.problemReporting,
    profile.fullCrls,
    profile.partitionedCrls,
    asOf,
    source,
  ];
}

/**
 * Stores the lists that profiles of issuers name, for known issuers with that key. Lists that they no longer name are
 * not fetched any more, unless certificates name them. Idempotent, and safe in several processes.
 */
export async function discloseCrls(database: Pick<EntityManager, 'query'>): Promise<void> {
  await database.query(statement);
}

const statement = `
  WITH disclosed AS (
    SELECT DISTINCT ON (issuer.id, list.url) issuer.id AS issuer, list.url, list.role
    FROM ct_issuer AS issuer JOIN ct_issuer_profile AS profile USING (spki_sha256),
      LATERAL (
        SELECT unnest(full_crls) AS url, 'full' AS role UNION ALL SELECT unnest(partitioned_crls), 'partition') AS list
    ORDER BY issuer.id, list.url, list.role),
  gone AS (
    UPDATE ct_crl SET role = NULL WHERE role IS NOT NULL AND NOT EXISTS (
      SELECT FROM disclosed WHERE disclosed.issuer = ct_crl.issuer AND disclosed.url = ct_crl.url))
  INSERT INTO ct_crl (issuer, url, host, role)
  SELECT issuer, url,
    CASE WHEN url !~* '^https:' THEN regexp_replace(place, ':80$', '') WHEN place ~ ':[0-9]+$' THEN place ELSE place || ':443' END, role
  FROM disclosed, lower(substring(url from '^[a-zA-Z]+://(?:[^/?#]*@)?([^/?#]+)')) AS place
  WHERE NOT EXISTS (
    SELECT FROM ct_crl AS known
    WHERE known.issuer = disclosed.issuer AND known.url = disclosed.url AND known.role = disclosed.role)
  ORDER BY issuer, url
  ON CONFLICT (issuer, url) DO UPDATE SET role = excluded.role`;
