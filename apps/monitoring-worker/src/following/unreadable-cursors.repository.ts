import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

type Reader = Pick<Tx, 'query'>;

export interface UnreadableCursor {
  /** RFC 6962, 3.2: the number of a log in the index changes when the index is built again. */
  readonly logId: Buffer;
  /** The last one that was matched. */
  readonly entryIndex: string;
}

@Injectable()
export class UnreadableCursors {
  constructor(private readonly database: DataSource) {}

  /** By log id, in hexadecimal. */
  async all(): Promise<Map<string, string>> {
    const rows = await this.database.query<UnreadableCursor[]>(
      `SELECT log_id AS "logId", entry_index AS "entryIndex" FROM monitoring_unreadable_cursor`,
    );
    return new Map(rows.map(({ logId, entryIndex }) => [logId.toString('hex'), entryIndex]));
  }

  async store(tx: Reader, cursors: readonly UnreadableCursor[]): Promise<void> {
    if (cursors.length === 0) return;
    await tx.query(
      `INSERT INTO monitoring_unreadable_cursor (log_id, entry_index)
       SELECT * FROM unnest($1::bytea[], $2::bigint[])
       ON CONFLICT (log_id) DO UPDATE SET entry_index = excluded.entry_index`,
      [cursors.map(({ logId }) => logId), cursors.map(({ entryIndex }) => entryIndex)],
    );
  }
}
