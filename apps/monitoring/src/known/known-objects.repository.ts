import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Also the names of the tables. */
export type KnownObject = 'known_key' | 'known_cert';

/** What every known object has, besides what identifies it. */
export interface KnownRow {
  readonly id: string;
  readonly note: string;
  readonly created_at: Date;
}

/** Values of the columns that identify an object within an account, and of those that follow from them. */
export type Identity = Readonly<Record<string, unknown>>;

/** Not `*`: a prepared statement that returns another column after a migration would fail on every connection. */
const shownColumns = {
  known_key: 'id, note, created_at, spki_sha256, dns_names',
  known_cert: 'id, note, created_at, tbs_sha256',
} as const satisfies Record<KnownObject, string>;

/** Known keys and known certificates: two tables that differ in what identifies a row. */
@Injectable()
export class KnownObjects {
  constructor(private readonly database: DataSource) {}

  /** Ascending by id. @param after id of the last object of the page before */
  async page<Row extends KnownRow>(
    object: KnownObject,
    accountId: string,
    { after, limit }: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly Row[]> {
    return await this.database.query(
      `SELECT ${shownColumns[object]} FROM ${object} WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
      [accountId, after ?? '0', limit],
    );
  }

  async find<Row extends KnownRow>(
    tx: Tx,
    object: KnownObject,
    accountId: string,
    identity: Identity,
  ): Promise<Row | null> {
    const columns = Object.keys(identity);
    const [found] = await tx.query<Row[]>(
      `SELECT ${shownColumns[object]} FROM ${object}
       WHERE account_id = $1 AND ${columns.map((column, at) => `${column} = $${at + 2}`).join(' AND ')}`,
      [accountId, ...Object.values(identity)],
    );
    return found ?? null;
  }

  /** The caller holds the lock of the account. @returns null when it has `max` of them */
  async add<Row extends KnownRow>(
    tx: Tx,
    object: KnownObject,
    accountId: string,
    { id, note, identity, max }: { id: string; note: string; identity: Identity; max: number },
  ): Promise<Row | null> {
    const columns = Object.keys(identity);
    const [added] = await tx.query<Row[]>(
      `INSERT INTO ${object} (account_id, id, note, ${columns.join(', ')})
       SELECT $1, $2, $3, ${columns.map((_, at) => `$${at + 5}`).join(', ')}
       WHERE (SELECT count(*) FROM ${object} WHERE account_id = $1) < $4
       RETURNING ${shownColumns[object]}`,
      [accountId, id, note, max, ...Object.values(identity)],
    );
    return added ?? null;
  }

  async setNote(tx: Tx, object: KnownObject, accountId: string, id: string, note: string): Promise<void> {
    await tx.query(`UPDATE ${object} SET note = $3 WHERE account_id = $1 AND id = $2`, [accountId, id, note]);
  }

  /** @returns what was deleted; null: there was none */
  async delete<Row extends KnownRow>(
    tx: Tx,
    object: KnownObject,
    accountId: string,
    id: string,
  ): Promise<Row | null> {
    const [[deleted]] = await tx.query<[Row[], number]>(
      `DELETE FROM ${object} WHERE account_id = $1 AND id = $2 RETURNING ${shownColumns[object]}`,
      [accountId, id],
    );
    return deleted ?? null;
  }
}
