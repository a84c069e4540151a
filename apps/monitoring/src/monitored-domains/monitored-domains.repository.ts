import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

export interface MonitoredDomain {
  readonly name: string;
  readonly enabled: boolean;
}

@Injectable()
export class MonitoredDomains {
  constructor(private readonly database: DataSource) {}

  /** By name; a leading dot sorts first. */
  async ofAccount(accountId: string): Promise<readonly MonitoredDomain[]> {
    return await this.database.query(
      `SELECT name, enabled FROM monitored_domain WHERE account_id = $1 ORDER BY name`,
      [accountId],
    );
  }

  async get(
    accountId: string,
    name: string,
    tx: Pick<Tx, 'query'> = this.database,
  ): Promise<MonitoredDomain | null> {
    const [found] = await tx.query<MonitoredDomain[]>(
      `SELECT name, enabled FROM monitored_domain WHERE account_id = $1 AND name = $2`,
      [accountId, name],
    );
    return found ?? null;
  }

  /** The caller holds the lock of the account. @returns false when it has `max` of them */
  async add(tx: Tx, accountId: string, { name, enabled }: MonitoredDomain, max: number): Promise<boolean> {
    const added = await tx.query<unknown[]>(
      `INSERT INTO monitored_domain (account_id, name, enabled)
       SELECT $1, $2, $3 WHERE (SELECT count(*) FROM monitored_domain WHERE account_id = $1) < $4
       RETURNING name`,
      [accountId, name, enabled, max],
    );
    return added.length > 0;
  }

  async setEnabled(tx: Tx, accountId: string, { name, enabled }: MonitoredDomain): Promise<void> {
    await tx.query(
      `UPDATE monitored_domain SET enabled = $3, enabled_at = CASE WHEN $3 THEN now() ELSE enabled_at END
       WHERE account_id = $1 AND name = $2`,
      [accountId, name, enabled],
    );
  }

  /** @returns what was deleted; null: there was none */
  async delete(tx: Tx, accountId: string, name: string): Promise<MonitoredDomain | null> {
    const [[deleted]] = await tx.query<[MonitoredDomain[], number]>(
      `DELETE FROM monitored_domain WHERE account_id = $1 AND name = $2 RETURNING name, enabled`,
      [accountId, name],
    );
    return deleted ?? null;
  }
}
