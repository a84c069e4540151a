import { LeaseLost, leases } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { NewIssuance } from '@certwright/ct-index';
import {
  areIdsStored,
  crlsOf,
  IssuerIds,
  type Stored,
  type StoredPlaces,
  storeIssuances,
  tbsSha256At,
} from '@certwright/ct-index';
import { CrlIds } from '@certwright/ct-index';
import { CtLogEntity, type CtLogKind } from '@certwright/ct-schema';
import { CtLogEvidenceEntity } from '@certwright/ct-schema';
import {
  dropContradicted,
  dropEvidence,
  insertEvidence,
  type LogEvidence,
  unprovenHead,
  withoutTable,
} from './log-evidence';
import { leftOver } from '@certwright/ct-schema';
import { UnverifiedMarks } from './unverified';

/** A log as in a log list. */
export interface ListedLog {
  /** SHA-256 over `keyDer`. */
  readonly logId: Buffer;
  readonly description: string;
  readonly operator: string;
  readonly kind: CtLogKind;
  readonly url: string;
  /** First line of its checkpoints (static-ct-api); absent for RFC 6962. */
  readonly origin?: string | null;
  readonly keyDer: Buffer;
  readonly mmdS: number;
  readonly intervalStart: Date | null;
  readonly intervalEnd: Date | null;
  readonly listState: string;
  readonly enabled: boolean;
}

/** The temporary right to write what was read of a log. */
export interface LogLease {
  readonly log: number;
  readonly token: string;
}

export interface LeasedLog {
  readonly lease: LogLease;
  readonly log: CtLogEntity;
}

/** An entry that could not be read. */
export interface OddEntry {
  readonly index: bigint;
  readonly fault: string;
  /** The leaf, or its prefix. */
  readonly leaf: Uint8Array;
  /** Length of the whole leaf in bytes; absent: `leaf` is complete. */
  readonly leafBytes?: number;
}

/** Entries [from, to) of a log, parsed. */
export interface IngestedBatch {
  readonly from: bigint;
  readonly to: bigint;
  /** Each `tbsSha256` at most once. */
  readonly issuances: readonly NewIssuance[];
  readonly odd: readonly OddEntry[];
  /** Compact range over [0, to). */
  readonly treeState: Uint8Array;
  /** Timestamp of the last entry; absent: it could not be read. */
  readonly entryAt?: Date | null;
  /** Whether the tree at `to` hashes to a signed root. */
  readonly verified: boolean;
}

export interface SignedHead {
  readonly size: bigint;
  readonly root: Uint8Array;
  readonly at: Date;
  /** As fetched. */
  readonly signed: Uint8Array;
}

/** Why a log is stopped: prefix of `ct_log.stopped_reason`. */
export type StopKind = 'rollback' | 'fork' | 'root';

type Queries = Pick<EntityManager, 'query'>;

/** Max bytes that are stored of an odd entry. */
const keptOfOddEntry = 65_536;

/** Entries per second: each second has e^(1/60) times the weight of the previous one. */
const decayedRate = `CASE WHEN ingested_at IS NULL THEN 0 ELSE (
  SELECT entries_per_second * left_over + ($4::bigint - $3::bigint) / s * (1 - left_over)
  FROM greatest(0.001, extract(epoch FROM clock_timestamp() - ingested_at)::double precision) AS s, ${leftOver('s')} AS left_over) END`;

const held = `id = $1 AND ${leases.isHeld('$2')}`;

function newerOf(one: StoredPlaces['newest'], other: StoredPlaces['newest']): StoredPlaces['newest'] {
  return other === null || (one !== null && one.position >= other.position) ? one : other;
}

/** Followed logs, their leases and their positions. */
@Injectable()
export class CtLogs {
  private issuerIds = new IssuerIds();
  private crlIds = new CrlIds();
  /** Of the issuances that this process has committed. */
  private newest: StoredPlaces['newest'] = null;
  /** By log: the position that this process committed last. */
  private readonly positions = new Map<number, bigint>();
  private readonly marks = new UnverifiedMarks();

  constructor(private readonly database: DataSource) {}

  async all(): Promise<CtLogEntity[]> {
    return await this.database.getRepository(CtLogEntity).find({ order: { id: 'ASC' } });
  }

  /** Applies a log list; positions stay. A log that is no longer listed is not followed. */
  async keep(logs: readonly ListedLog[]): Promise<void> {
    await this.database.transaction(async (tx) => {
      for (const log of logs) {
        await tx.query(
          `INSERT INTO ct_log (log_id, description, operator, kind, url, key_der, mmd_s, interval_start, interval_end,
             list_state, enabled, origin)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
           ON CONFLICT (log_id) DO UPDATE SET description = excluded.description, operator = excluded.operator,
             kind = excluded.kind, url = excluded.url, mmd_s = excluded.mmd_s, interval_start = excluded.interval_start,
             interval_end = excluded.interval_end, list_state = excluded.list_state, enabled = excluded.enabled, origin = excluded.origin`,
          [
            log.logId,
            log.description,
            log.operator,
            log.kind,
            log.url,
            log.keyDer,
            log.mmdS,
            log.intervalStart,
            log.intervalEnd,
            log.listState,
            log.enabled,
            log.origin ?? null,
          ],
        );
      }
      await tx.query(`UPDATE ct_log SET enabled = false WHERE enabled AND NOT log_id = ANY ($1::bytea[])`, [
        logs.map(({ logId }) => logId),
      ]);
    });
  }

  /** The unleased log that has been due longest; null: none is due. */
  async lease(leaseMs: number): Promise<LeasedLog | null> {
    const [rows] = await this.database.query<[{ id: number; lease_token: string }[], number]>(
      `UPDATE ct_log SET ${leases.take('$1')}
       WHERE id = (
         SELECT id FROM ct_log
         WHERE enabled AND stopped_at IS NULL AND due_at <= clock_timestamp()
           AND ${leases.isFree()}
         ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id, lease_token`,
      [leaseMs],
    );
    const [row] = rows;
    if (row === undefined) return null;
    const log = await this.database.getRepository(CtLogEntity).findOneByOrFail({ id: row.id });
    return { lease: { log: row.id, token: row.lease_token }, log };
  }

  /** @throws LeaseLost */
  async lengthen(lease: LogLease, leaseMs: number): Promise<void> {
    await this.write(lease, leases.extend('$3'), [leaseMs]);
  }

  /**
   * One transaction: the position of the log is updated together with the rows, so each entry is ingested exactly once even if
   * a batch is repeated.
   *
   * @throws LeaseLost also when the log's position is not `from`, or a fail-over lost what was stored before
   */
  async ingest(lease: LogLease, batch: IngestedBatch): Promise<Stored> {
    // Together: ids are forgotten when the database lacks what was committed with them.
    const { issuerIds, crlIds, newest: committed } = this;
    await issuerIds.ensure(
      this.database.manager,
      batch.issuances.map(({ issuer }) => issuer),
    );
    const crls = await crlsOf(this.database.manager, crlIds, issuerIds, batch.issuances);
    let newest: StoredPlaces['newest'] = null;
    const stored = await this.database.transaction(async (tx) => {
      const before = batch.verified ? null : await this.marks.placeOf(tx, lease.log);
      const [, moved] = await tx.query<[unknown, number]>(
        `UPDATE ct_log SET position = $4, tree_state = $5, entries_odd = entries_odd + $6, ingested_at = clock_timestamp(),
           verified_size = CASE WHEN $7::boolean THEN $4::bigint ELSE verified_size END, failures = 0, last_error = NULL,
           entry_at = coalesce($8::timestamptz, entry_at), entries_per_second = ${decayedRate}
         WHERE ${held} AND position = $3`,
        [
          lease.log,
          lease.token,
          batch.from,
          batch.to,
          Buffer.from(batch.treeState),
          batch.odd.length,
          batch.verified,
          batch.entryAt ?? null,
        ],
      );
      if (moved === 0 || (await lacks(tx, committed))) throw new LeaseLost('ct_log', lease.log, lease.token);
      if (!(await areIdsStored(tx, issuerIds, crls, batch.issuances))) {
        this.forgetIds();
        throw new LeaseLost('ct_log', lease.log, lease.token);
      }
      await insertOdd(tx, lease.log, batch.odd);
      return await storeIssuances(tx, issuerIds, batch.issuances, crls, async (places) => {
        newest = places.newest;
        if (batch.verified) await this.marks.settle(tx, lease.log, places);
        else if (before !== null) await this.marks.mark(tx, before, places);
      });
    });
    this.newest = newerOf(this.newest, newest);
    this.positions.set(lease.log, batch.to);
    return stored;
  }

  /**
   * Whether the database lacks what this process has committed: it was restored from a backup, or failed over to a copy
   * without its newest commits. Then ids that this process has seen belong to other rows, and are forgotten. Deleted issuances
   * and a log that an operator restarted look the same, which does no harm. A lease from before a fail-over may still be valid:
   * `ingest` checks it, too.
   *
   * @param log as leased
   */
  async lacksCommitted({ id, position }: Pick<CtLogEntity, 'id' | 'position'>): Promise<boolean> {
    // A certificate that completes its precertificate gets no new position in the index.
    const isBehind = BigInt(position) < (this.positions.get(id) ?? 0n);
    if (!isBehind && !(await lacks(this.database, this.newest))) return false;
    this.newest = null;
    this.positions.clear();
    this.forgetIds();
    return true;
  }

  private forgetIds(): void {
    this.issuerIds = new IssuerIds();
    this.crlIds = new CrlIds();
  }

  /** A verified head that was proved consistent with the previous one. @throws LeaseLost */
  async saveHead(lease: LogLease, { size, root, at, signed }: SignedHead): Promise<void> {
    await this.write(lease, `head_size = $3, head_root = $4, head_at = $5, head_signed = $6`, [
      size,
      Buffer.from(root),
      at,
      Buffer.from(signed),
    ]);
  }

  /**
   * Sets the start of a log that is not followed from its first entry: earlier entries are part of a signed tree.
   *
   * @param treeState compact range over [0, index)
   * @throws LeaseLost
   */
  async beginAt(lease: LogLease, index: bigint, treeState: Uint8Array): Promise<void> {
    await this.write(lease, `start_index = $3, position = $3, verified_size = $3, tree_state = $4`, [
      index,
      Buffer.from(treeState),
    ]);
  }

  /** Releases the log. @param error what failed, if anything did @throws LeaseLost */
  async release(lease: LogLease, restMs: number, error: string | null = null): Promise<void> {
    await this.write(
      lease,
      `${leases.release}, due_at = clock_timestamp() + $3::int * interval '1 millisecond',
       last_error = $4, failures = CASE WHEN $4::text IS NULL THEN 0 ELSE failures + 1 END`,
      [restMs, error],
    );
  }

  /**
   * Stops the log until an operator resumes it, and stores the evidence.
   *
   * @param isProved false: the log has only not proved the contrary
   * @throws LeaseLost
   */
  async stop(
    lease: LogLease,
    kind: StopKind,
    problem: string,
    evidence: LogEvidence,
    isProved = true,
  ): Promise<void> {
    const stop = async (database: Queries) =>
      await this.write(
        lease,
        `${leases.release}, stopped_at = clock_timestamp(), stopped_reason = $3`,
        [`${kind}: ${problem}`],
        database,
      );
    const stopWithEvidence = this.database.transaction(async (tx) => {
      await stop(tx);
      await insertEvidence(tx, lease, kind, problem, evidence);
      if (kind === 'fork' && isProved) await dropContradicted(tx, lease, evidence.head);
      return true;
    });
    if (!(await withoutTable(stopWithEvidence, false))) await stop(this.database);
  }

  /** Stores a head that the log has not proved consistent with the others. @returns false: it is already stored */
  async keepUnproven({ log, token }: LogLease, problem: string, evidence: LogEvidence): Promise<boolean> {
    const insert = insertEvidence(this.database.manager, { log, token }, 'unproven', problem, evidence);
    return await withoutTable(insert, false);
  }

  /** An unproven head to be proved now; other processes skip it for a minute. */
  async unproven({ log }: LogLease, maxSize: bigint): Promise<CtLogEvidenceEntity | null> {
    return await unprovenHead(this.database, log, maxSize);
  }

  async proved({ id }: Pick<CtLogEvidenceEntity, 'id'>): Promise<void> {
    await dropEvidence(this.database, id);
  }

  private async write(
    lease: LogLease,
    change: string,
    values: readonly unknown[],
    database: Queries = this.database,
  ): Promise<void> {
    const [, written] = await database.query<[unknown, number]>(`UPDATE ct_log SET ${change} WHERE ${held}`, [
      lease.log,
      lease.token,
      ...values,
    ]);
    if (written === 0) throw new LeaseLost('ct_log', lease.log, lease.token);
  }
}

/** Whether an issuance that was committed is not there. */
async function lacks(
  database: Parameters<typeof tbsSha256At>[0],
  newest: StoredPlaces['newest'],
): Promise<boolean> {
  if (newest === null) return false;
  const position = String(newest.position);
  const stored = (await tbsSha256At(database, [position])).get(position);
  return stored?.toString('hex') !== newest.tbsSha256;
}

async function insertOdd(tx: EntityManager, log: number, odd: readonly OddEntry[]): Promise<void> {
  if (odd.length === 0) return;
  await tx.query(
    `INSERT INTO ct_odd_entry (log, entry_index, fault, leaf, leaf_bytes)
     SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::bytea[], $5::int[])`,
    [
      log,
      odd.map(({ index }) => index),
      odd.map(({ fault }) => fault),
      odd.map(({ leaf }) => Buffer.from(leaf.subarray(0, keptOfOddEntry))),
      odd.map(({ leaf, leafBytes }) => leafBytes ?? leaf.length),
    ],
  );
}
