import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CaAccountEntity } from '@certwright/core-schema';

/** The change of key waits for an operator, because the CA knows neither key: see `finishRollover`. */
export function isRolloverSuspended({ rolloverDueAt }: Pick<CaAccountEntity, 'rolloverDueAt'>): boolean {
  return Number(rolloverDueAt) === Infinity;
}

/** Our accounts at CAs. The worker seals keys before they are passed in. */
@Injectable()
export class CaAccounts {
  constructor(private readonly database: DataSource) {}

  /** The active account; null: none yet. */
  async ofAuthority(authority: string): Promise<CaAccountEntity | null> {
    return await this.one(`authority = :authority AND state <> 'ended'`, { authority });
  }

  async byId(id: string): Promise<CaAccountEntity | null> {
    return await this.one('id = :id', { id });
  }

  /**
   * Stores a key before it is sent to the CA. When two processes begin concurrently, both get the row of the first.
   */
  async begin(authority: string, keySealed: Uint8Array): Promise<CaAccountEntity> {
    await this.database.query(
      `INSERT INTO ca_account (authority, state, key_sealed) VALUES ($1, 'new', $2)
       ON CONFLICT (authority) WHERE state <> 'ended' DO NOTHING`,
      [authority, keySealed],
    );
    const account = await this.ofAuthority(authority);
    if (account === null) throw new Error(`the account at ${authority} vanished`);
    return account;
  }

  /** The CA has created the account. Idempotent. */
  async opened(id: string, accountUrl: string): Promise<void> {
    await this.database.query(
      `UPDATE ca_account SET state = 'valid', account_url = $2 WHERE id = $1 AND state <> 'ended'`,
      [id, accountUrl],
    );
  }

  /**
   * Requests a key change, which the worker carries out. Idempotent: one change at a time.
   *
   * @returns false without a valid account
   */
  async requestRollover(authority: string): Promise<boolean> {
    const [, changed] = await this.database.query<[unknown, number]>(
      `UPDATE ca_account SET rollover_due_at = coalesce(nullif(rollover_due_at, 'infinity'), clock_timestamp())
       WHERE authority = $1 AND state = 'valid'`,
      [authority],
    );
    return changed > 0;
  }

  /**
   * Claims an account whose key change is requested or in progress; with `nextKeySealed`, the CA may have either key.
   * Other workers skip it for the given time; after that, another one may claim it.
   */
  async takeRollover(forMs: number): Promise<CaAccountEntity | null> {
    const [[row]] = await this.database.query<[{ id: string }[], number]>(
      `UPDATE ca_account SET rollover_due_at = clock_timestamp() + $1 * interval '1 millisecond'
       WHERE id = (
         SELECT id FROM ca_account WHERE state = 'valid' AND rollover_due_at <= clock_timestamp()
         ORDER BY rollover_due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id`,
      [forMs],
    );
    return row === undefined ? null : await this.byId(row.id);
  }

  /** Stores the next key before it is sent to the CA. @returns the stored key: the first one wins */
  async beginRollover(id: string, nextKeySealed: Uint8Array): Promise<Buffer> {
    const [[row]] = await this.database.query<[{ next_key_sealed: Buffer }[], number]>(
      `UPDATE ca_account SET next_key_sealed = coalesce(next_key_sealed, $2),
         rollover_due_at = coalesce(rollover_due_at, clock_timestamp())
       WHERE id = $1 AND state = 'valid' RETURNING next_key_sealed`,
      [id, nextKeySealed],
    );
    if (row === undefined) throw new Error('only the key of a valid account can be rolled over');
    return row.next_key_sealed;
  }

  /**
   * Does nothing when that change has already ended: a key that the CA never received must not become the account's.
   *
   * @param nextKeySealed the value when the CA was queried
   * @param held the key that the CA reports; `former` cancels the change. `neither`: both are kept until an operator
   *   requests the change again
   * @returns false when the change had ended already
   */
  async finishRollover(
    id: string,
    nextKeySealed: Uint8Array,
    held: 'next' | 'former' | 'neither',
  ): Promise<boolean> {
    const [, changed] = await this.database.query<[unknown, number]>(
      `UPDATE ca_account SET
         key_sealed = CASE WHEN $3 = 'next' THEN next_key_sealed ELSE key_sealed END,
         next_key_sealed = CASE WHEN $3 = 'neither' THEN next_key_sealed END,
         rollover_due_at = CASE WHEN $3 = 'neither' THEN 'infinity'::timestamptz END
       WHERE id = $1 AND next_key_sealed = $2`,
      [id, nextKeySealed, held],
    );
    return changed > 0;
  }

  /**
   * The CA denies that the account exists.
   *
   * @param maxGapMs after a longer time without a denial, a new series begins
   * @returns how long it has denied that, ms
   */
  async denied(id: string, maxGapMs: number): Promise<number> {
    const [[row]] = await this.database.query<[{ for_ms: number }[], number]>(
      `UPDATE ca_account SET denied_at = statement_timestamp(), denied_since = CASE
         WHEN denied_at > statement_timestamp() - $2 * interval '1 millisecond' THEN denied_since
         ELSE statement_timestamp() END
       WHERE id = $1
       RETURNING extract(epoch FROM denied_at - denied_since)::float8 * 1000 AS for_ms`,
      [id, maxGapMs],
    );
    return row?.for_ms ?? 0;
  }

  /** The CA knows the account: a later denial begins a new series. */
  async known(id: string): Promise<void> {
    await this.database.query(
      `UPDATE ca_account SET denied_since = NULL, denied_at = NULL WHERE id = $1 AND denied_at IS NOT NULL`,
      [id],
    );
  }

  /** Irreversible: the CA has deactivated the account or does not know it. */
  async end(id: string): Promise<void> {
    await this.database.query(`UPDATE ca_account SET state = 'ended' WHERE id = $1`, [id]);
  }

  private async one(where: string, parameters: Record<string, string>): Promise<CaAccountEntity | null> {
    return await this.database
      .getRepository(CaAccountEntity)
      .createQueryBuilder()
      .where(where, parameters)
      .getOne();
  }
}
