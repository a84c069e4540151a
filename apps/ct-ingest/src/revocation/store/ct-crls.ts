import { LeaseLost } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Flushes } from '../../memory/flushes';
import { type Applied, applyCrl, type VerifiedCrl } from './apply-crl';
import { isWanted } from './crl-hosts';
import { discloseCrls } from '@certwright/issuer-profiles';
import { type HostLease } from './host-lease';

/** A list to fetch, and its known state. */
export interface DueCrl {
  readonly id: number;
  readonly url: string;
  /** Of its host. */
  readonly lease: HostLease;
  /** Of its issuer, DER. */
  readonly nameDer: Buffer;
  readonly spkiDer: Buffer;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** Null: no list was accepted so far. */
  readonly checkedAt: Date | null;
  readonly nextUpdate: Date | null;
  readonly freshUntil: Date | null;
  readonly entries: number;
  readonly failures: number;
  /** Database time of this read: a list fetched now is at least as new. */
  readonly requestedAt: Date;
}

/** A list that was accepted once, and is now out of date. */
export interface StaleCrl {
  readonly id: number;
  readonly url: string;
  readonly nextUpdate: Date | null;
  readonly lastError: string | null;
}

export interface CrlCounts {
  /** Lists that are needed and whose signature can be verified. */
  readonly wanted: number;
  readonly fresh: number;
  /** Lists that were fresh once. */
  readonly stale: number;
  /** Lists whose last fetch failed or was rejected. */
  readonly failing: number;
  readonly overdue: number;
  readonly entries: number;
}

/** Max stale lists that are reported by name. */
const maxNamed = 200;

/** Max rows that one statement deletes. */
const rowsForgotten = 20_000;

/** Max lists that are deleted at a time. */
const listsForgotten = 100;

/** The known revocation lists and their state. */
@Injectable()
export class CtCrls {
  /** Each keeps a connection and needs a second one: with all of them kept, none would proceed, nor would the logs. */
  private readonly applying: Flushes;

  constructor(private readonly database: DataSource) {
    this.applying = new Flushes(Math.max(1, Math.floor((database.options?.poolSize ?? 2) / 2)));
  }

  /** Marks the lists that issuers have disclosed as lists to fetch. */
  async disclose(): Promise<void> {
    await discloseCrls(this.database.manager);
  }

  /**
   * The list of this host that has been due longest; null: none is due. Lists that were accepted before come first, so that any number
   * of made-up lists does not delay them.
   */
  async due(lease: HostLease): Promise<DueCrl | null> {
    const [crl] = await this.database.query<Omit<DueCrl, 'lease'>[]>(
      `SELECT crl.id, url, name_der AS "nameDer", spki_der AS "spkiDer", etag, last_modified AS "lastModified",
         checked_at AS "checkedAt", next_update AS "nextUpdate", fresh_until AS "freshUntil", entries, failures,
         clock_timestamp() AS "requestedAt"
       FROM ct_crl AS crl JOIN ct_issuer AS signer ON signer.id = crl.issuer
       WHERE host = $1 AND due_at <= clock_timestamp() AND ${isWanted}
       ORDER BY checked_at IS NULL OR failures > 0, due_at LIMIT 1`,
      [lease.host],
    );
    return crl === undefined ? null : { ...crl, lease };
  }

  /** @param dueInMs until the next fetch @throws LeaseLost; the reason of the signal */
  async apply(
    { id, lease, requestedAt }: Pick<DueCrl, 'id' | 'lease' | 'requestedAt'>,
    list: VerifiedCrl,
    dueInMs: number,
    signal: AbortSignal,
  ): Promise<Applied> {
    await this.applying.begin(signal);
    try {
      return await applyCrl(this.database, list, { crl: id, lease, requestedAt, dueInMs, signal });
    } finally {
      this.applying.ended();
    }
  }

  /** The server responded that the list is unchanged. @throws LeaseLost */
  async unchanged(crl: Pick<DueCrl, 'id' | 'lease' | 'requestedAt'>, dueInMs: number): Promise<void> {
    await this.write(crl, dueInMs, `checked_at = $4, failures = 0, last_error = NULL`, [crl.requestedAt]);
  }

  /** @throws LeaseLost */
  async failed(crl: DueCrl, error: string, dueInMs: number): Promise<void> {
    await this.write(crl, dueInMs, `failures = failures + 1, last_error = $4`, [error]);
  }

  /** A later leaseholder of the host may have newer data. */
  private async write(
    { id, lease }: Pick<DueCrl, 'id' | 'lease'>,
    dueInMs: number,
    change: string,
    values: readonly unknown[],
  ): Promise<void> {
    const [, written] = await this.database.query<[unknown, number]>(
      `UPDATE ct_crl SET ${change}, due_at = clock_timestamp() + $3::int * interval '1 millisecond'
       WHERE id = $1 AND EXISTS (SELECT FROM ct_crl_host AS host WHERE host.host = ct_crl.host AND lease_token = $2)`,
      [id, lease.token, dueInMs, ...values],
    );
    if (written === 0) throw new LeaseLost('ct_crl_host', lease.host, lease.token);
  }

  async counts(): Promise<CrlCounts> {
    const [row] = await this.database.query<[CrlCounts]>(
      `SELECT count(*)::int AS wanted, count(*) FILTER (WHERE fresh_until > now())::int AS fresh,
         count(*) FILTER (WHERE fresh_until <= now())::int AS stale, count(*) FILTER (WHERE failures > 0)::int AS failing,
         count(*) FILTER (WHERE due_at < now() - interval '1 hour')::int AS overdue,
         coalesce(sum(entries), 0)::float8 AS entries
       FROM ct_crl AS crl WHERE ${isWanted}`,
    );
    return row;
  }

  async stale(): Promise<readonly StaleCrl[]> {
    return await this.database.query(
      `SELECT id, url, next_update AS "nextUpdate", last_error AS "lastError" FROM ct_crl AS crl
       WHERE fresh_until <= now() AND ${isWanted} ORDER BY fresh_until LIMIT $1`,
      [maxNamed],
    );
  }

  /**
   * Deletes lists, with their revocations, that no unexpired certificate names and no issuer discloses any more. Waits two
   * days after that, as processes remember for a while that a list is known.
   *
   * @returns number of deleted lists
   */
  async forget(): Promise<number> {
    const unneeded = `role IS NULL AND (needed_until IS NULL OR needed_until < now() - interval '2 days')`;
    const lists = await this.database.query<{ id: number }[]>(
      `SELECT id FROM ct_crl WHERE ${unneeded} ORDER BY id LIMIT $1`,
      [listsForgotten],
    );
    for (const { id } of lists) {
      let deleted = rowsForgotten;
      while (deleted === rowsForgotten) {
        // If the list is needed again before the last statement, even after the end of this process, it is fetched as a new one:
        // without its revocations, all certificates on it would be good.
        [, deleted] = await this.database.query<[unknown, number]>(
          `WITH forgotten AS MATERIALIZED (
             UPDATE ct_crl SET content_sha256 = NULL, etag = NULL, last_modified = NULL, fresh_until = NULL, due_at = now()
             WHERE id = $1 AND ${unneeded} RETURNING id)
           DELETE FROM ct_revocation WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM ct_revocation WHERE crl = (SELECT id FROM forgotten) LIMIT $2))`,
          [id, rowsForgotten],
        );
      }
      // Revocations added meanwhile are deleted, too; a process that locks the list is waited for, and then finds it deleted.
      await this.database.transaction(async (tx) => {
        const [, gone] = await tx.query<[unknown, number]>(
          `DELETE FROM ct_crl WHERE id = $1 AND ${unneeded}`,
          [id],
        );
        if (gone > 0) await tx.query(`DELETE FROM ct_revocation WHERE crl = $1`, [id]);
      });
    }
    return lists.length;
  }
}
