import { type MonitoringChangeEntity, Transactions, type Tx } from '@certwright/core-schema';
import type { CallerIdentity } from '@certwright/service';
import { Injectable } from '@nestjs/common';

/** What was changed, and how. `before` is null for what was created, `after` for what was deleted. */
export type MonitoringChange = Pick<
  MonitoringChangeEntity,
  'object' | 'name' | 'action' | 'before' | 'after'
>;

/** An open transaction, in which no other request changes what the account monitors. */
export interface AccountChange {
  readonly tx: Tx;
  readonly accountId: string;
  readonly maxMonitoredDomains: number;
  readonly record: (change: MonitoringChange) => Promise<void>;
}

@Injectable()
export class MonitoringChanges {
  constructor(private readonly transactions: Transactions) {}

  /**
   * Runs `work` in one transaction. The lock of the account makes its writes consecutive, so that limits hold and concurrent
   * requests for one name create one row.
   */
  async run<T>(
    { accountId, keyId }: CallerIdentity,
    work: (change: AccountChange) => Promise<T>,
  ): Promise<T> {
    return await this.transactions.run(async (tx) => {
      const [account] = await tx.query<{ max: number }[]>(
        `SELECT max_monitored_domains AS max FROM account WHERE id = $1 FOR NO KEY UPDATE`,
        [accountId],
      );
      if (account === undefined) throw new Error(`account ${accountId} of an API key does not exist`);
      const record = async (change: MonitoringChange) =>
        await recordChange(tx, { ...change, accountId, apiKeyId: keyId });
      return await work({ tx, accountId, maxMonitoredDomains: account.max, record });
    });
  }
}

/** @param change `apiKeyId` is null for the operator */
export async function recordChange(
  tx: Tx,
  change: MonitoringChange & Pick<MonitoringChangeEntity, 'accountId' | 'apiKeyId'>,
): Promise<void> {
  const { accountId, apiKeyId, object, name, action, before, after } = change;
  await tx.query(
    `INSERT INTO monitoring_change (transaction_id, account_id, api_key_id, object, name, action, before, after)
     VALUES (pg_current_xact_id()::text::bigint, $1, $2, $3, $4, $5, $6, $7)`,
    [accountId, apiKeyId, object, name, action, before, after],
  );
}
