import type { EntityManager } from 'typeorm';

/**
 * Lists that the profiles of issuers name, for whoever is known under that key; what they no longer name is fetched no more, unless
 * certificates name it. Any number of processes may, again and again.
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
