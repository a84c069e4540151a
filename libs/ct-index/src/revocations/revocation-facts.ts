import type { EntityManager } from 'typeorm';
import type { StoredIssuance } from '../issuance-pages';

/** The revocation of a certificate on a list; of several lists, the one with the earliest time. */
export interface Revocation {
  readonly revokedAt: Date;
  /** RFC 5280, section 5.3.1. */
  readonly reason: number;
  /** When the issuer last confirmed that list. */
  readonly checkedAt: Date;
}

export interface RevocationFacts {
  readonly status: 'revoked' | 'good' | 'unknown';
  readonly revokedAt: Date | null;
  /** RFC 5280, section 5.3.1. */
  readonly reason: number | null;
  /** When the issuer last confirmed that list. */
  readonly checkedAt: Date | null;
}

/** The list in certificates of an issuer; without `crl`, all lists that the issuer has disclosed, together. */
export type NamedList = Pick<StoredIssuance, 'issuer' | 'crl'>;

/**
 * When the issuer last confirmed each of some lists, in input order: the named list, or else the disclosed ones; null
 * if neither is valid, fresh and complete, so that the status of a certificate that is not on it is unknown.
 */
export type Coverage = (lists: readonly NamedList[]) => Promise<readonly (Date | null)[]>;

const unknown: RevocationFacts = { status: 'unknown', revokedAt: null, reason: null, checkedAt: null };

/**
 * For a whole page, in its order. Unknown when the certificate is expired, when its serial number could not be read, when no list
 * covers it, and while the covering list was requested before the certificate was discovered: the list may be older than it.
 */
export async function revocationFacts(
  issuances: readonly StoredIssuance[],
  coverage: Coverage,
): Promise<readonly RevocationFacts[]> {
  const nowMs = Date.now();
  const isUnknown = ({ hasSerial, notAfterMs }: StoredIssuance) => !hasSerial || notAfterMs <= nowMs;
  // Nested: texts as keys would take longer to build than to find.
  const ofIssuer = new Map<number, Map<NamedList['crl'], NamedList>>();
  for (const each of issuances) {
    if (each.revocation !== null || isUnknown(each)) continue;
    const lists = ofIssuer.get(each.issuer);
    if (lists === undefined) ofIssuer.set(each.issuer, new Map([[each.crl, each]]));
    else if (!lists.has(each.crl)) lists.set(each.crl, each);
  }
  const lists = [...ofIssuer.values()].flatMap((of) => [...of.values()]);
  const checkedAt = lists.length === 0 ? [] : await coverage(lists);
  const covered = new Map(lists.map((list, nth) => [list, goodAt(checkedAt[nth])]));
  return issuances.map((each) => {
    if (isUnknown(each)) return unknown;
    if (each.revocation !== null) return { status: 'revoked', ...each.revocation };
    const list = ofIssuer.get(each.issuer)?.get(each.crl);
    const facts = (list && covered.get(list)) ?? unknown;
    return facts.checkedAt !== null && facts.checkedAt.getTime() > each.discoveredAtMs ? facts : unknown;
  });
}

function goodAt(checkedAt: Date | null | undefined): RevocationFacts {
  return checkedAt ? { status: 'good', revokedAt: null, reason: null, checkedAt } : unknown;
}

/** The current status, in one statement. */
export function coverageIn(reader: Pick<EntityManager, 'query'>): Coverage {
  return async (lists) => {
    const rows = await reader.query<{ checkedAt: Date | null }[]>(statement, [
      lists.map(({ crl }) => crl),
      lists.map(({ issuer }) => issuer),
    ]);
    return rows.map(({ checkedAt }) => checkedAt);
  };
}

/** Each part is LATERAL with a LIMIT or an aggregate, which fixes the plan regardless of the table statistics. */
const statement = `
  SELECT coalesce(named.checked_at, disclosed.checked_at) AS "checkedAt"
  FROM unnest($1::int[], $2::int[]) WITH ORDINALITY AS given (crl, issuer, nth)
  LEFT JOIN LATERAL (
    SELECT checked_at FROM ct_crl
    WHERE id = given.crl AND issuer = given.issuer AND covers AND fresh_until > now() LIMIT 1) AS named ON true
  LEFT JOIN LATERAL (
    SELECT greatest(max(checked_at) FILTER (WHERE role = 'full' AND valid),
      CASE WHEN bool_and(valid) FILTER (WHERE role = 'partition')
        THEN min(checked_at) FILTER (WHERE role = 'partition') END) AS checked_at
    FROM (
      SELECT role, checked_at, covers AND coalesce(fresh_until > now(), false) AS valid FROM ct_crl
      WHERE ct_crl.issuer = given.issuer AND role IS NOT NULL AND named.checked_at IS NULL) AS crl) AS disclosed ON true
  ORDER BY nth`;
