import type { Tx } from '@certwright/core-schema';
import type { EndpointRow } from '@certwright/monitored-endpoints';
import { Injectable } from '@nestjs/common';

/** Checked at once, but not within a minute after the last check: requests must not flood servers. */
const soon = `least(endpoint.check_due_at, greatest(now(), endpoint.looked_at + interval '1 minute'))`;

/** Changes which hosts of an account are checked, and how. */
@Injectable()
export class Endpoints {
  /** @param isDue check it soon */
  async change(
    tx: Tx,
    accountId: string,
    { dns_name, muted, ports }: Pick<EndpointRow, 'dns_name' | 'muted' | 'ports'>,
    isDue: boolean,
  ): Promise<void> {
    await tx.query(
      `UPDATE monitored_endpoint AS endpoint SET muted = $3, ports = $4,
         check_due_at = CASE WHEN $5 THEN ${soon} ELSE check_due_at END
       WHERE account_id = $1 AND dns_name = $2`,
      [accountId, dns_name, muted, ports, isDue],
    );
  }

  /**
   * For a host that is monitored by its name. One that exists is checked soon. Changes nothing when the account has its
   * maximum number of endpoints. The caller holds the lock of the account.
   */
  async addMonitored(tx: Tx, accountId: string, name: string): Promise<void> {
    await tx.query(
      `INSERT INTO monitored_endpoint AS endpoint (account_id, dns_name)
       SELECT $1, $2 WHERE (SELECT count(*) FROM monitored_endpoint WHERE account_id = $1)
         < (SELECT max_monitored_endpoints FROM account WHERE id = $1)
       ON CONFLICT (account_id, dns_name) DO UPDATE SET check_due_at = ${soon}`,
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
