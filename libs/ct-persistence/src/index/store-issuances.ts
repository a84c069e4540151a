import { createHash } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import type { NewIssuance, NewIssuer } from './new-issuance';

export interface Stored {
  /** Issuances that nobody had seen before. */
  readonly discovered: number;
  /** Those of which only the precertificate had been known. */
  readonly completed: number;
}

/** The ids of issuers in this process: few, and they never change. */
export class IssuerIds {
  private readonly ids = new Map<string, number>();

  /** Before a transaction is begun: a row that two writers make at the same time makes one of them wait. */
  async ensure(database: Pick<EntityManager, 'query'>, issuers: readonly NewIssuer[]): Promise<void> {
    const unknown = new Map(
      issuers.filter((issuer) => !this.ids.has(keyOf(issuer))).map((issuer) => [keyOf(issuer), issuer]),
    );
    for (const [key, issuer] of unknown) {
      const [row] = await database.query<[{ id: number }]>(
        `INSERT INTO ct_issuer (spki_sha256, name_sha256, name_der, spki_der, certificate_der)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (spki_sha256, name_sha256) DO UPDATE SET
           spki_der = coalesce(ct_issuer.spki_der, excluded.spki_der),
           certificate_der = coalesce(ct_issuer.certificate_der, excluded.certificate_der)
         RETURNING id`,
        [issuer.spkiSha256, sha256(issuer.nameDer), issuer.nameDer, issuer.spkiDer, issuer.certificateDer],
      );
      this.ids.set(key, row.id);
    }
  }

  of(issuer: NewIssuer): number {
    const id = this.ids.get(keyOf(issuer));
    if (id === undefined) throw new Error('issuers are made known before their issuances are stored');
    return id;
  }
}

/**
 * Inserts what is new, in the caller's transaction, and completes what was known as a precertificate alone. The sequencer
 * is held from here to the end of the transaction: a reader that has seen a position has been able to see all before it.
 *
 * @param issuances each `tbsSha256` once
 */
export async function storeIssuances(
  tx: EntityManager,
  ids: IssuerIds,
  issuances: readonly NewIssuance[],
): Promise<Stored> {
  if (issuances.length === 0) return { discovered: 0, completed: 0 };
  const [{ next }] = await tx.query<[{ next: string }]>(`SELECT next FROM ct_sequence FOR UPDATE`);
  const known = await tx.query<{ nth: number; position: string; fresh: boolean }[]>(claimStatement, [
    Buffer.concat(issuances.map(({ tbsSha256 }) => tbsSha256)),
    issuances.map(({ notAfter }) => secondsOf(notAfter)),
    next,
  ]);
  const claimed = known.flatMap(({ nth, position, fresh }) => {
    const issuance = issuances[nth - 1];
    return issuance === undefined ? [] : [{ issuance, position, fresh }];
  });
  const fresh = claimed.filter((each) => each.fresh);
  if (fresh.length > 0) {
    await insert(tx, ids, fresh);
    await tx.query(`UPDATE ct_sequence SET next = next + $1`, [issuances.length]);
  }
  const completed = await complete(
    tx,
    claimed.filter((each) => !each.fresh && !each.issuance.precertificate),
  );
  return { discovered: fresh.length, completed };
}

interface Placed {
  readonly issuance: NewIssuance;
  readonly position: string;
}

/** Positions in the order of the entries. A gap where an issuance was known already does no harm. */
const claimStatement = `
  WITH candidate AS (
    SELECT substring($1::bytea from (nth::int - 1) * 32 + 1 for 32) AS tbs_sha256, to_timestamp(seconds) AS not_after, nth
    FROM unnest($2::float8[]) WITH ORDINALITY AS given (seconds, nth)),
  claimed AS (
    INSERT INTO ct_known (tbs_sha256, not_after, position)
    SELECT tbs_sha256, not_after, $3::bigint + nth - 1 FROM candidate
    ON CONFLICT DO NOTHING RETURNING tbs_sha256, not_after, position)
  SELECT nth::int, coalesce(claimed.position, known.position) AS position, claimed.position IS NOT NULL AS fresh
  FROM candidate
  LEFT JOIN claimed USING (tbs_sha256, not_after)
  LEFT JOIN ct_known AS known USING (tbs_sha256, not_after)
  ORDER BY nth`;

/** Octets of a SHA-256. */
const hashOctets = 32;

/**
 * Octets go to the server in one piece and are cut there: as arrays of bytea each octet would be four characters of text, which
 * takes longer than everything else.
 */
async function insert(tx: EntityManager, ids: IssuerIds, placed: readonly Placed[]): Promise<void> {
  const column = <T>(of: (issuance: NewIssuance) => T): T[] => placed.map(({ issuance }) => of(issuance));
  const starts: number[] = [];
  const pieces: Buffer[] = [];
  let octets = 0;
  for (const { issuance } of placed) {
    starts.push(octets);
    const { tbsSha256, certSha256, spkiSha256, serial, body } = issuance;
    pieces.push(tbsSha256, certSha256, spkiSha256, serial, body);
    octets += 3 * hashOctets + serial.length + body.length;
  }
  await tx.query(insertStatement, [
    Buffer.concat(pieces),
    placed.map(({ position }) => position),
    starts,
    column(({ serial }) => serial.length),
    column(({ body }) => body.length),
    column(({ precertificate }) => precertificate),
    column(({ issuer }) => ids.of(issuer)),
    column(({ notBefore }) => secondsOf(notBefore)),
    column(({ notAfter }) => secondsOf(notAfter)),
    column(({ dnsNames }) => dnsNames.join('\n')),
  ]);
  await insertNames(tx, placed);
}

const insertStatement = `
  INSERT INTO ct_issuance (position, tbs_sha256, cert_sha256, spki_sha256, serial, body, precertificate, issuer,
    not_before, not_after, discovered_at, dns_names)
  SELECT position, substring($1::bytea from at + 1 for 32), substring($1 from at + 33 for 32),
    substring($1 from at + 65 for 32), substring($1 from at + 97 for serial),
    substring($1 from at + 97 + serial for body), precertificate, issuer, to_timestamp(not_before), to_timestamp(not_after),
    clock_timestamp(), string_to_array(names, E'\\n')
  FROM unnest($2::bigint[], $3::int[], $4::int[], $5::int[], $6::boolean[], $7::int[], $8::float8[], $9::float8[],
    $10::text[]) AS given (position, at, serial, body, precertificate, issuer, not_before, not_after, names)`;

async function insertNames(tx: EntityManager, placed: readonly Placed[]): Promise<void> {
  const keys = placed.flatMap(({ issuance }) => issuance.nameKeys);
  const [first] = keys;
  if (first === undefined) return;
  if (keys.some(({ length }) => length !== first.length))
    throw new TypeError('keys of names have one length');
  let nth = 0;
  const starts = placed.map(({ issuance }) => (nth += issuance.nameKeys.length) - issuance.nameKeys.length);
  await tx.query(
    `INSERT INTO ct_name (key, position, not_after)
     SELECT substring($1::bytea from (first + more) * $2::int + 1 for $2), position, to_timestamp(seconds)
     FROM unnest($3::bigint[], $4::float8[], $5::int[], $6::int[]) AS given (position, seconds, first, count),
       generate_series(0, count - 1) AS more`,
    [
      Buffer.concat(keys),
      first.length,
      placed.map(({ position }) => position),
      placed.map(({ issuance }) => secondsOf(issuance.notAfter)),
      starts,
      placed.map(({ issuance }) => issuance.nameKeys.length),
    ],
  );
}

/** Since the epoch: exact for the whole seconds that certificates have, up to the year 9999. */
function secondsOf(date: Date): number {
  return date.getTime() / 1_000;
}

/** A certificate that comes after its precertificate: the row, and never its position. */
async function complete(tx: EntityManager, placed: readonly Placed[]): Promise<number> {
  if (placed.length === 0) return 0;
  const [, completed] = await tx.query<[unknown, number]>(
    `UPDATE ct_issuance SET cert_sha256 = given.cert, body = given.body, precertificate = false
     FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS given (position, cert, body)
     WHERE ct_issuance.position = given.position AND precertificate`,
    [
      placed.map(({ position }) => position),
      placed.map(({ issuance }) => issuance.certSha256),
      placed.map(({ issuance }) => issuance.body),
    ],
  );
  return completed;
}

function keyOf({ spkiSha256, nameDer }: NewIssuer): string {
  return spkiSha256.toString('latin1') + nameDer.toString('latin1');
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
