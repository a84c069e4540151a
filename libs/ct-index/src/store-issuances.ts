import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import {
  binaryArray,
  BinaryRows,
  citusIsThere,
  copyIn,
  insertBlocks,
  insertRun,
  young,
} from '@certwright/ct-schema';
import { RunWriter } from '@certwright/posting-index';
import type { EntityManager } from 'typeorm';
import { knownPositions, knownQuestions, knownRows, knownTarget } from './known-issuances';
import type { NewIssuance, NewIssuer } from './new-issuance';
import type { CrlIds } from './revocations/crl-ids';
import { mergeIn } from './runs/merge-runs';
import { SortedPostings } from './runs/sorted-postings';
import { lockCommit } from './visible-end';

export interface Stored {
  /** Number of new issuances. */
  readonly discovered: number;
  /** Number of those of which only the precertificate was known. */
  readonly completed: number;
}

/** Positions of the issuances of a batch. */
export interface StoredPlaces {
  /** Positions of the new ones, [from, to). */
  readonly from: number;
  readonly to: number;
  /** Positions of the others. */
  readonly known: readonly number[];
  /** The one with the highest position; null: the batch was empty. */
  readonly newest: { readonly position: number; readonly tbsSha256: string } | null;
}

/** The ids of issuers in this process, which never change: as long as the caller keeps the issuers. */
export class IssuerIds {
  private readonly ids = new WeakMap<NewIssuer, number>();

  /** Before a transaction begins: two writers of the same row block each other. */
  async ensure(database: Pick<EntityManager, 'query'>, issuers: readonly NewIssuer[]): Promise<void> {
    const unknown = new Set(issuers.filter((issuer) => !this.ids.has(issuer)));
    for (const same of Map.groupBy(unknown, keyOf).values()) {
      const issuer = same.find(({ certificateDer }) => certificateDer !== null) ?? same[0];
      if (issuer === undefined) continue;
      const [row] = await database.query<[{ id: number }]>(
        `INSERT INTO ct_issuer (spki_sha256, name_sha256, name_der, spki_der, certificate_der)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (spki_sha256, name_sha256) DO UPDATE SET
           spki_der = coalesce(ct_issuer.spki_der, excluded.spki_der),
           certificate_der = coalesce(ct_issuer.certificate_der, excluded.certificate_der)
         RETURNING id`,
        [issuer.spkiSha256, sha256(issuer.nameDer), issuer.nameDer, issuer.spkiDer, issuer.certificateDer],
      );
      for (const each of same) this.ids.set(each, row.id);
    }
  }

  of(issuer: NewIssuer): number {
    const id = this.ids.get(issuer);
    if (id === undefined) throw new Error('store issuers before their issuances');
    return id;
  }
}

/**
 * The lists that issuances name, inserted before their transaction.
 *
 * @param ids contains the issuers already
 */
export async function crlsOf(
  database: Pick<EntityManager, 'query'>,
  crls: CrlIds,
  ids: IssuerIds,
  issuances: readonly NewIssuance[],
): Promise<readonly (number | null)[]> {
  return await crls.ensure(
    database,
    issuances.map(({ crlUrl: url, issuer, notAfter }) =>
      url === null ? null : { issuer: ids.of(issuer), url, notAfter },
    ),
  );
}

/**
 * Whether the issuers and lists of issuances are stored under the ids that this process knows, in the transaction that stores the
 * issuances: after a fail-over that lost them, the ids belong to no rows, or to others.
 */
export async function areIdsStored(
  tx: Pick<EntityManager, 'query'>,
  ids: IssuerIds,
  crls: readonly (number | null)[],
  issuances: readonly NewIssuance[],
): Promise<boolean> {
  const issuers = [...new Set(issuances.map(({ issuer }) => issuer))];
  const lists = new Map(
    issuances.flatMap(({ issuer, crlUrl: url }, nth): [number, { issuer: number; url: string }][] => {
      const crl = crls[nth] ?? null;
      return crl === null || url === null ? [] : [[crl, { issuer: ids.of(issuer), url }]];
    }),
  );
  const [{ stored }] = await tx.query<[{ stored: boolean }]>(
    `SELECT NOT EXISTS (
       SELECT FROM unnest($1::int[], $2::bytea[], $3::bytea[], $4::boolean[]) AS given (id, spki, name, has_certificate)
       WHERE NOT EXISTS (SELECT FROM ct_issuer AS issuer
         WHERE issuer.id = given.id AND spki_sha256 = spki AND name_der = name
           AND (certificate_der IS NOT NULL OR NOT has_certificate)))
     AND NOT EXISTS (
       SELECT FROM unnest($5::int[], $6::int[], $7::text[]) AS given (id, issuer, url)
       WHERE NOT EXISTS (SELECT FROM ct_crl AS crl
         WHERE crl.id = given.id AND crl.issuer = given.issuer AND crl.url = given.url)) AS stored`,
    [
      issuers.map((issuer) => ids.of(issuer)),
      issuers.map(({ spkiSha256 }) => spkiSha256),
      issuers.map(({ nameDer }) => nameDer),
      issuers.map(({ certificateDer }) => certificateDer !== null),
      [...lists.keys()],
      [...lists.values()].map(({ issuer }) => issuer),
      [...lists.values()].map(({ url }) => url),
    ],
  );
  return stored;
}

/**
 * Inserts new issuances in the caller's transaction, and completes those that were known by their precertificate only. The sequencer
 * is locked until the end of the transaction: a reader that has seen a position was able to see all earlier ones, and
 * no other process inserts the same issuance.
 *
 * @param issuances each `tbsSha256` at most once
 * @param crls of each issuance, from `crlsOf`
 * @param placed called before the end, with their positions
 */
export async function storeIssuances(
  tx: EntityManager,
  ids: IssuerIds,
  issuances: readonly NewIssuance[],
  crls: readonly (number | null)[],
  placed: (places: StoredPlaces) => Promise<void> = async () => await Promise.resolve(),
): Promise<Stored> {
  if (issuances.length === 0) {
    await placed({ from: 0, to: 0, known: [], newest: null });
    return { discovered: 0, completed: 0 };
  }
  const prepared = await prepare(tx, ids, issuances, crls);
  const turn = await takeSequencer(
    tx,
    prepared.questions.map(({ table }) => table),
  );
  const known = await knownPositions(tx, prepared.questions, turn.knownTables);
  const positions = new Float64Array(issuances.length);
  let to = turn.next;
  for (let nth = 0; nth < issuances.length; nth += 1) if (!known.has(nth)) positions[nth] = to++;
  if (to > turn.next) {
    prepared.known.place(positions);
    await copyIn(tx, knownTarget, prepared.known);
    for (const { target, rows, holds } of prepared.issuances) {
      rows.place(
        holds === null ? positions : positions.map((each, nth) => (holds.has(nth) ? each : 0)),
        turn.now,
      );
      await copyIn(tx, target, rows);
    }
    await storePostings(tx, prepared.postings, positions, { ...turn, from: turn.next, to });
    await tx.query(`UPDATE ct_sequence SET next = $1`, [to]);
    if (turn.isSharded) await lockCommit(tx, turn.next);
    if (turn.unmerged >= maxUnmerged) await mergeInstead(tx);
  }
  const newest = newestOf(issuances, (nth) => known.get(nth) ?? positions[nth] ?? 0);
  await placed({ from: turn.next, to, known: [...known.values()], newest });
  return { discovered: to - turn.next, completed: await complete(tx, issuances, known) };
}

function newestOf(
  issuances: readonly NewIssuance[],
  positionOf: (nth: number) => number,
): StoredPlaces['newest'] {
  let newest: StoredPlaces['newest'] = null;
  for (const [nth, { tbsSha256 }] of issuances.entries()) {
    const position = positionOf(nth);
    if (newest === null || position > newest.position) newest = { position, tbsSha256 };
  }
  return newest;
}

/**
 * Does as much as possible before the lock is taken. In between, yields to the holder of the sequencer in this process: its
 * results would wait for all of this.
 */
async function prepare(
  tx: EntityManager,
  ids: IssuerIds,
  issuances: readonly NewIssuance[],
  crls: readonly (number | null)[],
) {
  const postings = await SortedPostings.of(issuances);
  await setImmediate();
  const questions = knownQuestions(issuances);
  const known = knownRows(issuances);
  await setImmediate();
  const odd = await withOddNames(tx, issuances);
  const all = { target: issuanceTarget, rows: issuanceRows(ids, issuances, crls, false), holds: null };
  if (odd.size === 0) return { postings, questions, known, issuances: [all] };
  const plain = new Set([...issuances.keys()].filter((nth) => !odd.has(nth)));
  const oddRows = { target: oddTarget, rows: issuanceRows(ids, issuances, crls, true), holds: odd };
  return { postings, questions, known, issuances: [{ ...all, holds: plain }, oddRows] };
}

/** Indexes of the issuances with odd names. None before the migration that adds the column: their names are stored all the same. */
async function withOddNames(
  tx: EntityManager,
  issuances: readonly NewIssuance[],
): Promise<ReadonlySet<number>> {
  const odd = issuances.flatMap(({ oddNames }, nth) => (oddNames.length > 0 ? [nth] : []));
  if (odd.length === 0) return new Set();
  const columns = await tx.query<unknown[]>(
    `SELECT 1 FROM pg_attribute WHERE attrelid = 'ct_issuance'::regclass AND attname = 'odd_names'`,
  );
  return new Set(columns.length > 0 ? odd : []);
}

/** Runs of single commits that wait for the merger: this many exist only while no merger works. */
const maxUnmerged = 64;

/** Otherwise pages would become slower with each commit. The merger reports its errors; they do not prevent storing. */
async function mergeInstead(tx: EntityManager): Promise<void> {
  await tx.query('SAVEPOINT before_merge');
  try {
    await mergeIn(tx, 'small', new Date());
  } catch {
    await tx.query('ROLLBACK TO SAVEPOINT before_merge');
  }
}

interface Turn {
  /** Position of the next issuance. */
  readonly next: number;
  /** Ends of all partitions that end after it, in order. */
  readonly partitionEnds: readonly number[];
  /** The existing ones of the requested tables. */
  readonly knownTables: ReadonlySet<string>;
  /** Database time: later than that of every earlier position. */
  readonly now: Date;
  /** Number of runs of single commits. */
  readonly unmerged: number;
  /** Tables may be on several servers. */
  readonly isSharded: boolean;
}

async function takeSequencer(tx: EntityManager, knownTables: readonly string[]): Promise<Turn> {
  const [{ next, ends, tables, ...turn }] = await tx.query<
    [
      Pick<Turn, 'now' | 'unmerged' | 'isSharded'> & {
        next: string;
        ends: readonly string[];
        tables: readonly string[];
      },
    ]
  >(
    `SELECT next, clock_timestamp() AS now, ${citusIsThere} AS "isSharded",
       (SELECT count(*)::int FROM ct_run WHERE level = 0) AS unmerged,
       ARRAY(SELECT end_position FROM ct_partition WHERE end_position > next ORDER BY end_position) AS ends,
       ARRAY(SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relname = ANY ($1::name[])) AS tables
     FROM ct_sequence FOR UPDATE`,
    [knownTables],
  );
  return { ...turn, next: Number(next), partitionEnds: ends.map(Number), knownTables: new Set(tables) };
}

const issuanceColumns = `position, discovered_at, tbs_sha256, cert_sha256, precertificate, spki_sha256, issuer, crl, serial,
  not_before, not_after, dns_names, body`;
const issuanceTarget = `ct_issuance (${issuanceColumns})`;
const oddTarget = `ct_issuance (${issuanceColumns}, odd_names)`;

const anyTime = new Date(0);

/** Bytes of most rows without the body. */
const besideBody = 400;

/**
 * Rows whose positions and time of discovery are set later. Nearly all issuances have no odd names, and their rows no column
 * for them.
 */
function issuanceRows(
  ids: IssuerIds,
  issuances: readonly NewIssuance[],
  crls: readonly (number | null)[],
  hasOddNames: boolean,
): BinaryRows {
  const bodies = issuances.reduce((sum, { body }) => sum + body.length, 0);
  const rows = new BinaryRows(hasOddNames ? 14 : 13, bodies + issuances.length * besideBody);
  issuances.forEach((issuance, nth) => {
    rows.row();
    rows.bigint(0);
    rows.timestamp(anyTime);
    rows.hex(issuance.tbsSha256);
    rows.hex(issuance.certSha256);
    rows.boolean(issuance.precertificate);
    rows.hex(issuance.spkiSha256);
    rows.integer(ids.of(issuance.issuer));
    rows.integer(crls[nth] ?? null);
    rows.bytes(issuance.serial);
    rows.timestamp(issuance.notBefore);
    rows.timestamp(issuance.notAfter);
    rows.texts(issuance.dnsNames);
    rows.bytes(issuance.body);
    if (hasOddNames) rows.texts(issuance.oddNames);
  });
  return rows;
}

/**
 * A certificate that follows its precertificate: replaces the row, but keeps its position.
 *
 * @param known positions of issuances that are not new, by their index
 */
async function complete(
  tx: EntityManager,
  issuances: readonly NewIssuance[],
  known: ReadonlyMap<number, number>,
): Promise<number> {
  const placed = [...known].flatMap(([nth, position]) => {
    const issuance = issuances[nth];
    return issuance === undefined || issuance.precertificate ? [] : [{ issuance, position }];
  });
  if (placed.length === 0) return 0;
  const [, completed] = await tx.query<[unknown, number]>(
    `UPDATE ct_issuance SET cert_sha256 = given.cert, body = given.body, precertificate = false
     FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS given (position, cert, body)
     WHERE ct_issuance.position = given.position AND precertificate`,
    [
      binaryArray('int8', placed, (values, { position }) => values.bigint(position)),
      binaryArray('bytea', placed, (values, { issuance }) => values.hex(issuance.certSha256)),
      binaryArray('bytea', placed, (values, { issuance }) => values.bytes(issuance.body)),
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

/**
 * Indexes the postings of one commit: one run for each partition of positions that it overlaps.
 *
 * @param positions of each issuance of the postings; 0: it has no new position
 * @param from first position of the commit; @param to its end, exclusive
 * @param partitionEnds of all partitions that end after `from`, in order
 */
async function storePostings(
  tx: EntityManager,
  postings: SortedPostings,
  positions: Float64Array,
  { from, to, partitionEnds }: { from: number; to: number; partitionEnds: readonly number[] },
): Promise<void> {
  let begin = from;
  for (const partition of partitionEnds) {
    if (begin >= to) return;
    const end = Math.min(to, partition);
    const writer = new RunWriter(begin);
    postings.each(positions, begin, end, writer.add);
    const blocks = writer.end();
    if (blocks.length > 0) {
      const run = { level: 0, home: young, partition, from: begin, to: end, halfExpiredDay: null };
      const id = await insertRun(tx, { ...run, postings: writer.postings });
      await insertBlocks(tx, { id, home: young }, blocks);
    }
    begin = end;
  }
}
