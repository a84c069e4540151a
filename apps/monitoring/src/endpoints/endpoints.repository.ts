import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A row of `monitored_endpoint`. */
export interface Endpoint {
  readonly dns_name: string;
  readonly muted: boolean;
  readonly ports: readonly number[];
  readonly found_at: Date;
}

const columns = 'dns_name, muted, ports, found_at';

@Injectable()
export class Endpoints {
  constructor(private readonly database: DataSource) {}

  /** By name. @param after name of the last one of the page before */
  async page(
    accountId: string,
    { after, limit }: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly Endpoint[]> {
    return await this.database.query(
      `SELECT ${columns} FROM monitored_endpoint WHERE account_id = $1 AND dns_name > $2 ORDER BY dns_name LIMIT $3`,
      [accountId, after ?? '', limit],
    );
  }

  async get(
    accountId: string,
    name: string,
    tx: Pick<Tx, 'query'> = this.database,
  ): Promise<Endpoint | null> {
    const [found] = await tx.query<Endpoint[]>(
      `SELECT ${columns} FROM monitored_endpoint WHERE account_id = $1 AND dns_name = $2`,
      [accountId, name],
    );
    return found ?? null;
  }

  async change(tx: Tx, accountId: string, { dns_name, muted, ports }: Endpoint): Promise<void> {
    await tx.query(
      `UPDATE monitored_endpoint SET muted = $3, ports = $4 WHERE account_id = $1 AND dns_name = $2`,
      [accountId, dns_name, muted, ports],
    );
  }

  /**
   * For a host that is monitored by its name. Changes nothing when the endpoint exists, or when the account has its maximum
   * number of endpoints. The caller holds the lock of the account.
   */
  async addMonitored(tx: Tx, accountId: string, name: string): Promise<void> {
    await tx.query(
      `INSERT INTO monitored_endpoint (account_id, dns_name)
       SELECT $1, $2 WHERE (SELECT count(*) FROM monitored_endpoint WHERE account_id = $1)
         < (SELECT max_monitored_endpoints FROM account WHERE id = $1)
       ON CONFLICT DO NOTHING`,
      [accountId, name],
    );
  }

  /** Of a host that is no longer monitored by its name, unless certificates were found for it. */
  async removeMonitored(tx: Tx, accountId: string, name: string): Promise<void> {
    await tx.query(
      `DELETE FROM monitored_endpoint WHERE account_id = $1 AND dns_name = $2 AND last_not_after IS NULL`,
      [accountId, name],
    );
  }
}
