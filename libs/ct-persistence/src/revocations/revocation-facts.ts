import type { EntityManager } from 'typeorm';

export interface RevocationFacts {
  readonly status: 'revoked' | 'good' | 'unknown';
  readonly revokedAt: Date | null;
  /** RFC 5280, section 5.3.1. */
  readonly reason: number | null;
  /** When the issuer last stood by the list that says so. */
  readonly checkedAt: Date | null;
}

export interface CheckedIssuance {
  readonly issuer: number;
  readonly crl: number | null;
  readonly serial: Buffer;
  readonly notAfter: Date;
}

const unknown: RevocationFacts = { status: 'unknown', revokedAt: null, reason: null, checkedAt: null };

/**
 * One statement for a whole page, in the order given. Unknown when the certificate is expired, when its serial number could not be
 * read, and when no valid and fresh list covers it: the one that it names, or else those that its issuer has disclosed, all of them
 * together.
 */
export async function revocationFacts(
  reader: Pick<EntityManager, 'query'>,
  issuances: readonly CheckedIssuance[],
): Promise<readonly RevocationFacts[]> {
  const nowMs = Date.now();
  const checked = issuances.filter(({ serial, notAfter }) => serial.length > 0 && notAfter.getTime() > nowMs);
  if (checked.length === 0) return issuances.map(() => unknown);
  const lists = new Map(checked.map((each) => [listOf(each), each]));
  const rows = await reader.query<Row[]>(statement, [
    checked.map(({ issuer }) => issuer),
    checked.map(({ serial }) => serial),
    Array.from(lists.values(), ({ crl }) => crl),
    Array.from(lists.values(), ({ issuer }) => issuer),
  ]);
  const revoked = new Map<CheckedIssuance | undefined, RevocationFacts>();
  const covered = new Map<string, RevocationFacts>();
  for (const { nth, issuer, crl, ...facts } of rows) {
    if (nth !== null) revoked.set(checked[nth - 1], first(revoked.get(checked[nth - 1]), facts));
    else covered.set(listOf({ issuer, crl }), { status: 'good', ...facts });
  }
  const covers = (each: CheckedIssuance) =>
    covered.get(listOf(each)) ?? covered.get(listOf({ ...each, crl: null })) ?? unknown;
  const known = new Map(checked.map((each) => [each, revoked.get(each) ?? covers(each)]));
  return issuances.map((each) => known.get(each) ?? unknown);
}

/** A revoked certificate, by its place from 1, or a list that covers certificates; with no `crl` all that its issuer disclosed. */
interface Row extends Omit<RevocationFacts, 'status'> {
  readonly nth: number | null;
  readonly issuer: number | null;
  readonly crl: number | null;
}

/** Of what several lists say of one certificate. */
function first(before: RevocationFacts | undefined, facts: Omit<RevocationFacts, 'status'>): RevocationFacts {
  const isLater = (before?.revokedAt?.getTime() ?? Infinity) <= (facts.revokedAt?.getTime() ?? Infinity);
  return before !== undefined && isLater ? before : { status: 'revoked', ...facts };
}

function listOf({ issuer, crl }: Pick<Row, 'issuer' | 'crl'>): string {
  return `${issuer} ${crl}`;
}

/**
 * A descent into one index for each certificate, and for each list that they name. Tells only what is out of the ordinary, and each
 * list once: a page is a hundred good certificates of a few lists. Each part is LATERAL with a LIMIT or an OFFSET, so that there is no
 * other plan, whatever the tables held when it was made.
 */
const statement = `
  WITH named AS (
    SELECT given.crl, given.issuer, list.checked_at
    FROM unnest($3::int[], $4::int[]) AS given (crl, issuer) LEFT JOIN LATERAL (
      SELECT checked_at FROM ct_crl
      WHERE id = given.crl AND issuer = given.issuer AND covers AND fresh_until > now() LIMIT 1) AS list ON true)
  SELECT nth::int AS nth, NULL::int AS issuer, NULL::int AS crl, revoked_at AS "revokedAt", reason, checked_at AS "checkedAt"
  FROM unnest($1::int[], $2::bytea[]) WITH ORDINALITY AS given (issuer, serial, nth), LATERAL (
    SELECT revoked_at, reason, (SELECT checked_at FROM ct_crl WHERE id = ct_revocation.crl AND fresh_until > now()) AS checked_at
    FROM ct_revocation WHERE ct_revocation.issuer = given.issuer AND ct_revocation.serial = given.serial OFFSET 0) AS revoked
  WHERE checked_at IS NOT NULL
  UNION ALL
  SELECT NULL, issuer, crl, NULL, NULL, checked_at FROM named WHERE checked_at IS NOT NULL
  UNION ALL
  SELECT NULL, uncovered.issuer, NULL, NULL, NULL, disclosed.checked_at
  FROM (SELECT DISTINCT issuer FROM named WHERE checked_at IS NULL) AS uncovered, LATERAL (
    SELECT greatest(max(checked_at) FILTER (WHERE role = 'full' AND valid),
      CASE WHEN bool_and(valid) FILTER (WHERE role = 'partition')
        THEN min(checked_at) FILTER (WHERE role = 'partition') END) AS checked_at
    FROM (
      SELECT role, checked_at, covers AND coalesce(fresh_until > now(), false) AS valid FROM ct_crl
      WHERE ct_crl.issuer = uncovered.issuer AND role IS NOT NULL) AS crl) AS disclosed
  WHERE disclosed.checked_at IS NOT NULL`;
