import { LeaseLost } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Applied, applyCrl, type VerifiedCrl } from './apply-crl';
import { isWanted } from './crl-hosts';
import { discloseCrls } from '@certwright/issuer-profiles';
import { type HostLease } from './host-lease';

/** A list that is to be fetched, and what is known of it. */
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
  /** Null: nothing was accepted so far. */
  readonly checkedAt: Date | null;
  readonly nextUpdate: Date | null;
  readonly freshUntil: Date | null;
  readonly entries: number;
  readonly failures: number;
  /** When this was read, by the clock of the database: what is fetched now is as new as this at least. */
  readonly askedAt: Date;
}

/** A list that once was accepted, and is out of date now. */
export interface StaleCrl {
  readonly id: number;
  readonly url: string;
  readonly nextUpdate: Date | null;
  readonly lastError: string | null;
}

export interface CrlCounts {
  /** That somebody needs, and whose signature can be verified. */
  readonly wanted: number;
  readonly fresh: number;
  /** That were fresh once. */
  readonly stale: number;
  /** That could not be fetched, or not be accepted, the last time. */
  readonly failing: number;
  readonly overdue: number;
  readonly entries: number;
}

/** Stale lists of which one hears by name. */
const mostNamed = 200;

/** Rows that one statement deletes. */
const rowsForgotten = 20_000;

/** Lists that are forgotten at a time. */
const listsForgotten = 100;

/** Which revocation lists there are, and how it goes with them. */
@Injectable()
export class CtCrls {
  constructor(private readonly database: DataSource) {}

  /** The lists that issuers have disclosed are those that are fetched. */
  async disclose(): Promise<void> {
    await discloseCrls(this.database.manager);
  }

  /**
   * The list of this host that has been due longest; null: none is. Those that have been accepted before come first: however many
   * others somebody says are there, they do not keep these waiting.
   */
  async due(lease: HostLease): Promise<DueCrl | null> {
    const [crl] = await this.database.query<Omit<DueCrl, 'lease'>[]>(
      `SELECT crl.id, url, name_der AS "nameDer", spki_der AS "spkiDer", etag, last_modified AS "lastModified",
         checked_at AS "checkedAt", next_update AS "nextUpdate", fresh_until AS "freshUntil", entries, failures,
         clock_timestamp() AS "askedAt"
       FROM ct_crl AS crl JOIN ct_issuer AS signer ON signer.id = crl.issuer
       WHERE host = $1 AND due_at <= clock_timestamp() AND ${isWanted}
       ORDER BY checked_at IS NULL OR failures > 0, due_at LIMIT 1`,
      [lease.host],
    );
    return crl === undefined ? null : { ...crl, lease };
  }

  /** @param dueInMs when it is fetched again @throws LeaseLost; the reason of the signal */
  async apply(
    { id, lease, askedAt }: Pick<DueCrl, 'id' | 'lease' | 'askedAt'>,
    list: VerifiedCrl,
    dueInMs: number,
    signal: AbortSignal,
  ): Promise<Applied> {
    return await applyCrl(this.database, list, { crl: id, lease, askedAt, dueInMs, signal });
  }

  /** The server says that it is what it was. @throws LeaseLost */
  async unchanged(crl: Pick<DueCrl, 'id' | 'lease' | 'askedAt'>, dueInMs: number): Promise<void> {
    await this.write(crl, dueInMs, `checked_at = $4, failures = 0, last_error = NULL`, [crl.askedAt]);
  }

  /** @throws LeaseLost */
  async failed(crl: DueCrl, error: string, dueInMs: number): Promise<void> {
    await this.write(crl, dueInMs, `failures = failures + 1, last_error = $4`, [error]);
  }

  /** Whoever was given the host since may know better. */
  private async write(
    { id, lease }: Pick<DueCrl, 'id' | 'lease'>,
    dueInMs: number,
    change: string,
    values: readonly unknown[],
  ): Promise<void> {
    const [, written] = await this.database.query<[unknown, number]>(
      `UPDATE ct_crl SET ${change}, due_at = clock_timestamp() + $3::int * interval '1 millisecond'
       WHERE id = $1 AND EXISTS (SELECT FROM ct_crl_host AS asked WHERE asked.host = ct_crl.host AND lease_token = $2)`,
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
      [mostNamed],
    );
  }

  /**
   * Lists that no unexpired certificate names, and no issuer discloses any more, and what stands on them. Two days after that,
   * as processes remember for a while that a list is known.
   *
   * @returns how many are gone
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
        [, deleted] = await this.database.query<[unknown, number]>(
          `DELETE FROM ct_revocation WHERE ctid = ANY (ARRAY(SELECT ctid FROM ct_revocation WHERE crl = $1 LIMIT $2))`,
          [id, rowsForgotten],
        );
      }
      // What somebody put on it meanwhile goes with it; who holds it now is waited for, and finds it gone afterwards.
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
