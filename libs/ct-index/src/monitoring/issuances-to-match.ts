import type { EntityManager } from 'typeorm';
import type { PageReader } from '../page-reader';
import { behindPosition, endOfReading } from '../visible-end';
import { hashBytes, PackedReader } from '../packed-issuances';

/** The data of an issuance that decides which monitored domains it concerns, and whether it is known. */
export interface IssuanceToMatch {
  readonly position: string;
  readonly tbsSha256: Buffer;
  readonly spkiSha256: Buffer;
  /** Of the certificate if it is known, else of the precertificate. */
  readonly certSha256: Buffer;
  readonly precertificate: boolean;
  /** `ct_issuer.id`. */
  readonly issuer: number;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly discoveredAt: Date;
  readonly dnsNames: readonly string[];
  /** Texts in place of names that are not names. */
  readonly oddNames: readonly string[];
}

export interface IssuancesToMatch {
  /** In the order of positions. */
  readonly issuances: readonly IssuanceToMatch[];
  /** Fewer than requested because of their size: more may follow. At least one. */
  readonly isCut: boolean;
}

/** Max bytes of names that are read at once, compressed and uncompressed: one log entry may have 1 MiB of them. */
const maxNameBytes = { stored: 2_097_152, sent: 8_388_608 };

/**
 * All rows in one value, as text: parsing eleven values per row takes the driver longer than PostgreSQL takes to find them.
 * `FROM` yields rows in the order of positions.
 */
const statement = (from: string) => `
  SELECT encode(string_agg(int8send(position) || tbs_sha256 || spki_sha256 || cert_sha256 || boolsend(precertificate)
      || int4send(issuer) || timestamptz_send(not_before) || timestamptz_send(not_after) || timestamptz_send(discovered_at)
      || names, ''::bytea ORDER BY position) FILTER (WHERE fits), 'base64') AS packed,
    NOT bool_and(fits) AS "isCut"
  FROM (
    SELECT *, coalesce(sum(octet_length(names)) OVER (ORDER BY position) - octet_length(names) <= ${maxNameBytes.sent}, false)
      AS fits
    FROM (
      SELECT *, CASE WHEN sum(stored) OVER (ORDER BY position) - stored <= ${maxNameBytes.stored}
        THEN array_send(dns_names) || array_send(coalesce(odd_names, '{}')) END AS names
      FROM (
        SELECT position, tbs_sha256, spki_sha256, cert_sha256, precertificate, issuer, not_before, not_after, discovered_at,
          dns_names, odd_names, pg_column_size(dns_names) + coalesce(pg_column_size(odd_names), 0) AS stored
        ${from}) AS one) AS one) AS one`;

/** Positions in order: their bounds exclude most partitions. */
const at = statement(
  `FROM ct_issuance
   WHERE position BETWEEN ($1::bigint[])[1] AND ($1::bigint[])[cardinality($1::bigint[])] AND position = ANY ($1::bigint[])
   ORDER BY position`,
);

/** The next issuances after a position, also expired ones. When a position is visible, so are all before it. */
export async function issuancesToMatch(
  reader: Pick<PageReader, 'query' | 'isSharded'>,
  after: string,
  limit: number,
): Promise<IssuancesToMatch> {
  const { from, values } = behindPosition(after, limit, await endOfReading(reader));
  return await read(reader, statement(from), values);
}

/** The issuances at positions, as far as they are still stored. @param positions ascending */
export async function issuancesToMatchAt(
  reader: Pick<EntityManager, 'query'>,
  positions: readonly number[],
): Promise<IssuancesToMatch> {
  return await read(reader, at, [positions]);
}

async function read(
  reader: Pick<EntityManager, 'query'>,
  text: string,
  values: unknown[],
): Promise<IssuancesToMatch> {
  const [row] = await reader.query<{ packed: string | null; isCut: boolean | null }[]>(text, values);
  return { issuances: unpack(row?.packed ?? null), isCut: row?.isCut === true };
}

function unpack(packed: string | null): readonly IssuanceToMatch[] {
  if (packed === null) return [];
  const reader = new PackedReader(Buffer.from(packed, 'base64'));
  const issuances: IssuanceToMatch[] = [];
  while (!reader.isDone) {
    issuances.push({
      position: String(reader.bigint()),
      tbsSha256: reader.bytes(hashBytes),
      spkiSha256: reader.bytes(hashBytes),
      certSha256: reader.bytes(hashBytes),
      precertificate: reader.boolean(),
      issuer: reader.integer(),
      notBefore: reader.timestamp(),
      notAfter: reader.timestamp(),
      discoveredAt: reader.timestamp(),
      dnsNames: reader.texts(),
      oddNames: reader.texts(),
    });
  }
  return issuances;
}
