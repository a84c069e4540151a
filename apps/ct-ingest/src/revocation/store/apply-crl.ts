import { LeaseLost } from '@certwright/postgres';
import { setImmediate as others } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { batchOf, changeStatement, placedChanges, stage, stagingTables } from './crl-staging';
import { type HostLease } from './host-lease';

/** A certificate on a list. */
export interface ListedRevocation {
  /** As in `ct_issuance`. */
  readonly serial: Buffer;
  /** Milliseconds since the epoch. */
  readonly revokedAt: number;
  /** RFC 5280, section 5.3.1. */
  readonly reason: number;
}

/** A list of its issuer with a verified signature. */
export interface VerifiedCrl {
  /** SHA-256 over the whole list. */
  readonly contentSha256: Buffer;
  /** CRL number, decimal; null: it has none. */
  readonly number: string | null;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date | null;
  readonly freshUntil: Date;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** In chunks, to yield to other work between them. */
  readonly revoked: Iterable<readonly ListedRevocation[]>;
  /** Evaluated after the last of `revoked`: whether a certificate in the list's scope that is not on the list is good. */
  readonly covers: () => boolean;
}

/**
 * `older`: than the known list. `crowded`: its issuer would exceed the max number of revocations. In both cases nothing
 * was changed.
 */
export type Applied =
  | {
      readonly outcome: 'applied';
      readonly entries: number;
      readonly added: number;
      readonly removed: number;
    }
  | { readonly outcome: 'same' | 'older' | 'crowded' };

/** The list to apply, its issuer, and when to fetch it next. */
export interface CrlApplying {
  readonly crl: number;
  readonly lease: HostLease;
  /** Time of the request: the list lacks what its issuer published later. */
  readonly requestedAt: Date;
  readonly dueInMs: number;
  readonly signal: AbortSignal;
}

/** Revocations that are changed at a time: half a second. */
const batchChanges = 20_000;

/**
 * Max revocations of one issuer on all of its lists. All public CAs together have about ten million, the largest one a few million; a
 * compromised intermediate CA could otherwise fill the disk.
 */
export const maxRevocationsPerIssuer = 20_000_000;

/**
 * Stores the difference between the list and the known revocations: new entries are inserted, missing ones are deleted, and the
 * others are not changed. Each step holds locks only briefly, as ingestion needs the row of the list, too; only the last step marks
 * the list as known. After an interruption, applying any later list completes the change.
 *
 * @throws LeaseLost before any change that conflicts with another process; the reason of the signal
 */
export async function applyCrl(
  database: DataSource,
  list: VerifiedCrl,
  applying: CrlApplying,
  maxRevocations = maxRevocationsPerIssuer,
): Promise<Applied> {
  const known = await compareKnown(database, applying.crl, list);
  if (known === 'older') return { outcome: known };
  if (known === 'same') {
    await fenced(database, standByStatement, applying, standByValues(list, applying));
    return { outcome: known };
  }
  // Temporary tables belong to the transaction: behind a pooler the next one may have another session.
  return await database.transaction(async (staging) => {
    for (const statement of stagingTables) await staging.query(statement);
    return await replace(database, staging, list, applying, maxRevocations);
  });
}

/** @param staging its transaction changes nothing but temporary tables */
async function replace(
  database: DataSource,
  staging: EntityManager,
  list: VerifiedCrl,
  applying: CrlApplying,
  maxRevocations: number,
): Promise<Applied> {
  const { crl, signal } = applying;
  await stage(staging, list.revoked, signal);
  const [{ entries, changes, others: elsewhere }] = (await staging.query(changeStatement, [crl])) as [
    { readonly entries: number; readonly changes: number; readonly others: number },
  ];
  if (entries + elsewhere > maxRevocations) return { outcome: 'crowded' };
  // While partly applied, it is neither the known list nor the new one.
  if (changes > 0) await fenced(database, forgetStatement, applying, []);
  let [added, removed] = [0, 0];
  for (let after = 0; after < changes; after += batchChanges) {
    signal.throwIfAborted();
    const done = await fenced(
      database,
      batchStatement,
      applying,
      await batchOf(staging, after, after + batchChanges),
    );
    added += done.added;
    removed += done.removed;
    await others();
  }
  const { contentSha256, number, thisUpdate, nextUpdate } = list;
  await fenced(database, knownStatement, applying, [
    ...standByValues(list, applying),
    ...[contentSha256, number, thisUpdate, nextUpdate, list.covers(), entries],
  ]);
  return { outcome: 'applied', entries, added, removed };
}

/**
 * A list with a lower number is older, unless the known one is out of date: a CA that restarted its numbers must not remain
 * without a list forever.
 */
async function compareKnown(
  database: DataSource,
  crl: number,
  list: VerifiedCrl,
): Promise<'older' | 'same' | 'new'> {
  const [known] = await database.query<{ same: boolean; older: boolean }[]>(
    `SELECT content_sha256 IS NOT DISTINCT FROM $2 AS same,
       coalesce(this_update > $3 OR (number > $4::numeric AND fresh_until > now()), false) AS older
     FROM ct_crl WHERE id = $1`,
    [crl, list.contentSha256, list.thisUpdate, list.number],
  );
  // It was deleted since.
  if (known === undefined) return 'older';
  return known.same ? 'same' : known.older ? 'older' : 'new';
}

interface Done {
  readonly held: boolean;
  readonly added: number;
  readonly removed: number;
}

/** @throws LeaseLost */
async function fenced(
  database: DataSource,
  statement: string,
  { crl, lease }: CrlApplying,
  values: readonly unknown[],
): Promise<Done> {
  const [done] = (await database.query(statement, [crl, lease.token, ...values])) as [Done];
  if (!done.held) throw new LeaseLost('ct_crl_host', lease.host, lease.token);
  return done;
}

/** Locks the list while the lease of its host is valid: until the transaction ends, it cannot be leased again or deleted. */
const held = `
  held AS MATERIALIZED (
    SELECT crl.id, crl.issuer FROM ct_crl AS crl JOIN ct_crl_host USING (host)
    WHERE crl.id = $1 AND lease_token = $2 FOR SHARE OF ct_crl_host FOR KEY SHARE OF crl)`;

/** @param change of `ct_crl` */
const changing = (change: string) => `
  WITH ${held}, changed AS (UPDATE ct_crl SET ${change} FROM held WHERE ct_crl.id = held.id RETURNING 1)
  SELECT EXISTS (SELECT FROM changed) AS held`;

const forgetStatement = changing(`content_sha256 = NULL, etag = NULL, last_modified = NULL`);

/** The issuer published the same list again. */
const standBy = `fresh_until = $3, etag = $4, last_modified = $5, failures = 0, last_error = NULL,
  due_at = clock_timestamp() + $6::int * interval '1 millisecond', checked_at = $7`;

const standByStatement = changing(standBy);

const knownStatement = changing(
  `${standBy}, content_sha256 = $8, number = $9, this_update = $10, next_update = $11, covers = $12, entries = $13`,
);

function standByValues(list: VerifiedCrl, { requestedAt, dueInMs }: CrlApplying): unknown[] {
  return [list.freshUntil, list.etag, list.lastModified, dueInMs, requestedAt];
}

/**
 * One primary key lookup per deleted row: even with outdated table statistics, there is no other plan. With the index of the
 * lists, all rows of a list would be read each time.
 */
const batchStatement = `
  WITH ${held},
  change AS MATERIALIZED (${placedChanges('$3', '$4', '$5', '$6')}),
  gone AS MATERIALIZED (
    SELECT place FROM held CROSS JOIN change CROSS JOIN LATERAL (
      SELECT ctid AS place FROM ct_revocation
      WHERE issuer = held.issuer AND serial = change.serial AND crl + 0 = held.id LIMIT 1) AS known
    WHERE change.revoked_at IS NULL),
  removed AS (DELETE FROM ct_revocation USING gone WHERE ct_revocation.ctid = gone.place RETURNING 1),
  added AS (
    INSERT INTO ct_revocation (issuer, serial, crl, revoked_at, reason)
    SELECT held.issuer, change.serial, held.id, change.revoked_at, change.reason
    FROM held, change WHERE change.revoked_at IS NOT NULL
    ON CONFLICT (issuer, serial, crl) DO UPDATE SET revoked_at = excluded.revoked_at, reason = excluded.reason
    RETURNING 1)
  SELECT EXISTS (SELECT FROM held) AS held, (SELECT count(*)::int FROM added) AS added,
    (SELECT count(*)::int FROM removed) AS removed`;
