import { limits } from '@certwright/agent-contract';
import { type Tx } from '@certwright/core-schema';
import { Problem } from '@certwright/errors';
import {
  endKeyRequest,
  endRenewalKeyRequests,
  hasKeyRequests,
  requestKey,
  retryKeyRequest,
} from '@certwright/ordering';
import { Injectable } from '@nestjs/common';
import { keyRequestChange, type Order, type StoredOrder } from './order';

/** Requests keys from the agents of the cluster of an order, in the caller's transaction. */
@Injectable()
export class OrderKeys {
  /**
   * After an order was created or modified.
   *
   * @throws Problem `bad_request` when the cluster has too many orders
   */
  async follow(tx: Tx, before: Order | null, stored: StoredOrder): Promise<void> {
    const change = keyRequestChange(before, stored);
    if (change === null || !(await hasKeyRequests(tx))) return;
    if (before?.cluster !== stored.cluster) await refuseFullCluster(tx, stored);
    const { planId } = stored;
    switch (change) {
      case 'replace':
      case 'ensure':
        return await requestKey(tx, planId, 'first', change === 'replace' ? 'replace' : 'keep');
      case 'end':
        return await endKeyRequest(tx, planId);
      case 'end_renewal':
        return await endRenewalKeyRequests(tx, [planId]);
    }
  }

  /** For a POST without changes: a pending request is due now, and a roll-out that has stopped starts again. */
  async retry(tx: Tx, { planId, cluster }: StoredOrder): Promise<void> {
    if (cluster === null || !(await hasKeyRequests(tx))) return;
    await retryKeyRequest(tx, planId);
    const [, restarted] = await tx.query<[unknown, number]>(
      `UPDATE rollout SET first_agent = NULL, first_since = NULL, turns = 0, broken = '{}', stopped_at = NULL,
         stop_noticed_at = NULL
       WHERE plan_id = $1 AND served_at IS NULL AND broken <> '{}'`,
      [planId],
    );
    if (restarted > 0) await tx.query(`SELECT order_is_seen_by_agents($1)`, [planId]);
  }
}

async function refuseFullCluster(tx: Tx, { accountId, cluster }: StoredOrder): Promise<void> {
  const [{ count }] = await tx.query<[{ count: number }]>(
    `SELECT count(*)::int AS count FROM order_v3 WHERE account_id = $1 AND cluster = $2`,
    [accountId, cluster],
  );
  if (count <= limits.maxOrdersPerCluster) return;
  const message = `A cluster has ${limits.maxOrdersPerCluster} orders at most; create another cluster.`;
  throw Problem.ofFields([{ field: 'cluster', code: 'out_of_range', message }]);
}
