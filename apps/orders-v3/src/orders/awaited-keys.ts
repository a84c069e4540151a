import { isAgentLive } from '@certwright/accounts';
import { type KeyRequestReason, type Tx } from '@certwright/core-schema';
import { hasKeyRequests } from '@certwright/ordering';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { StoredOrder } from './order';

/** A key that the agents of a cluster are to make for an order. */
export interface AwaitedKey {
  readonly reason: KeyRequestReason;
  readonly cluster: string;
  /** The account could not pay for the certificate. */
  readonly isUnpaid: boolean;
  readonly agents: 'none' | 'offline' | 'online';
  /** When an agent of the cluster was last seen; null: none was. */
  readonly lastSeenAt: Date | null;
}

interface AgentsRow {
  readonly cluster: string;
  readonly count: number;
  readonly isOnline: boolean;
  readonly lastSeenAt: Date | null;
}

/** Reads what orders wait for from their agents. */
@Injectable()
export class AwaitedKeys {
  constructor(private readonly database: DataSource) {}

  /**
   * @param orders of one account
   * @param tx the open transaction, if any
   * @returns by plan id
   */
  async of(orders: readonly StoredOrder[], tx?: Tx): Promise<ReadonlyMap<string, AwaitedKey>> {
    const managed = orders.filter(({ cluster }) => cluster !== null);
    const [first] = managed;
    const reader: Pick<Tx, 'query'> = tx ?? this.database;
    if (first === undefined || !(await hasKeyRequests(reader))) return new Map();
    const requests = await reader.query<{ planId: string; reason: KeyRequestReason; isUnpaid: boolean }[]>(
      `SELECT plan_id AS "planId", reason, unpaid_at IS NOT NULL AS "isUnpaid" FROM key_request
       WHERE plan_id = ANY ($1::bigint[])`,
      [managed.map(({ planId }) => planId)],
    );
    if (requests.length === 0) return new Map();
    const clusters = new Map(managed.map(({ planId, cluster }) => [planId, cluster ?? '']));
    const agents = await agentsOf(reader, first.accountId, [...new Set(clusters.values())]);
    return new Map(
      requests.map(({ planId, ...request }) => {
        const cluster = clusters.get(planId) ?? '';
        const { count = 0, isOnline = false, lastSeenAt = null } = agents.get(cluster) ?? {};
        const state = count === 0 ? 'none' : isOnline ? 'online' : 'offline';
        return [planId, { ...request, cluster, agents: state, lastSeenAt }];
      }),
    );
  }
}

/** By name of the cluster. */
async function agentsOf(
  reader: Pick<Tx, 'query'>,
  accountId: string,
  clusters: readonly string[],
): Promise<ReadonlyMap<string, AgentsRow>> {
  const rows = await reader.query<AgentsRow[]>(
    `SELECT cluster, count(*)::int AS count, max(last_seen_at) AS "lastSeenAt",
       bool_or(${isAgentLive('agent')}) AS "isOnline"
     FROM agent WHERE account_id = $1 AND cluster = ANY ($2::text[]) AND removed_at IS NULL GROUP BY cluster`,
    [accountId, clusters],
  );
  return new Map(rows.map((row) => [row.cluster, row]));
}
