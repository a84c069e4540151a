import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Agents on hosts of an account, which make the keys of its managed orders. */
export interface ClusterId {
  readonly accountId: string;
  readonly name: string;
}

export interface NewCluster extends ClusterId {
  /** Ed25519 public key; null: one agent at most. */
  readonly clusterKey: Buffer | null;
  /** Each renewal begins with a new key. */
  readonly rotateKeys: boolean;
}

export interface Cluster extends NewCluster {
  readonly createdAt: Date;
}

const columns = `account_id AS "accountId", name, cluster_key AS "clusterKey", rotate_keys AS "rotateKeys",
  created_at AS "createdAt"`;

@Injectable()
export class Clusters {
  constructor(private readonly database: DataSource) {}

  async exists(accountId: string, name: string): Promise<boolean> {
    const rows: unknown[] = await this.database.query(
      `SELECT 1 FROM cluster WHERE account_id = $1 AND name = $2`,
      [accountId, name],
    );
    return rows.length > 0;
  }

  async find(
    accountId: string,
    name: string,
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<Cluster | null> {
    const rows: Cluster[] = await reader.query(
      `SELECT ${columns} FROM cluster WHERE account_id = $1 AND name = $2`,
      [accountId, name],
    );
    return rows[0] ?? null;
  }

  /** By name, in code point order. */
  async page(accountId: string, after: string | null, limit: number): Promise<Cluster[]> {
    return await this.database.query(
      `SELECT ${columns} FROM cluster WHERE account_id = $1 AND ($2::text IS NULL OR name > $2)
       ORDER BY name LIMIT $3`,
      [accountId, after, limit],
    );
  }

  /** @returns null when the account has a cluster of this name */
  async create(
    tx: Pick<Tx, 'query'>,
    { accountId, name, clusterKey, rotateKeys }: NewCluster,
  ): Promise<Cluster | null> {
    const rows: Cluster[] = await tx.query(
      `INSERT INTO cluster (account_id, name, cluster_key, rotate_keys) VALUES ($1, $2, $3, $4)
       ON CONFLICT DO NOTHING RETURNING ${columns}`,
      [accountId, name, clusterKey, rotateKeys],
    );
    return rows[0] ?? null;
  }

  /**
   * Holds the cluster until the end of the transaction. A change of an order locks its plan first and its cluster
   * last: no row of an order may be locked after this.
   */
  async lock(tx: Tx, accountId: string, name: string): Promise<Cluster | null> {
    const rows: Cluster[] = await tx.query(
      `SELECT ${columns} FROM cluster WHERE account_id = $1 AND name = $2 FOR UPDATE`,
      [accountId, name],
    );
    return rows[0] ?? null;
  }

  /** The plans of the cluster's orders, before the cluster itself. */
  async lockPlans(tx: Tx, { accountId, name }: ClusterId): Promise<void> {
    await tx.query(
      `SELECT 1 FROM plan WHERE id IN (SELECT plan_id FROM order_v3 WHERE account_id = $1 AND cluster = $2)
       ORDER BY id FOR NO KEY UPDATE`,
      [accountId, name],
    );
  }

  /** The caller holds the cluster, and its plans when `rotateKeys` changes. */
  async update(tx: Tx, { accountId, name, clusterKey, rotateKeys }: NewCluster): Promise<Cluster> {
    const [[changed]] = await tx.query<[[Cluster], number]>(
      `UPDATE cluster SET cluster_key = $3, rotate_keys = $4 WHERE account_id = $1 AND name = $2
       RETURNING ${columns}`,
      [accountId, name, clusterKey, rotateKeys],
    );
    await tx.query(
      `UPDATE plan SET new_key_at_renewal = $3 FROM order_v3
       WHERE order_v3.plan_id = plan.id AND order_v3.account_id = $1 AND order_v3.cluster = $2
         AND plan.new_key_at_renewal <> $3`,
      [accountId, name, rotateKeys],
    );
    return changed;
  }

  /** Whether an agent is a member. */
  async hasAgents(tx: Tx, { accountId, name }: ClusterId): Promise<boolean> {
    const rows: unknown[] = await tx.query(
      `SELECT 1 FROM agent WHERE account_id = $1 AND cluster = $2 AND removed_at IS NULL LIMIT 1`,
      [accountId, name],
    );
    return rows.length > 0;
  }

  /** The name of an order that names the cluster; null: none does. */
  async firstOrder(tx: Tx, { accountId, name }: ClusterId): Promise<string | null> {
    const rows: { name: string }[] = await tx.query(
      `SELECT name FROM order_v3 WHERE account_id = $1 AND cluster = $2 LIMIT 1`,
      [accountId, name],
    );
    return rows[0]?.name ?? null;
  }

  /** With its agents and enrolment tokens: foreign keys cascade. No order names it. */
  async remove(tx: Tx, { accountId, name }: ClusterId): Promise<void> {
    await tx.query(`DELETE FROM cluster WHERE account_id = $1 AND name = $2`, [accountId, name]);
  }

  /**
   * Requests a new key for each order that has one. A request that exists already is not delayed. That of a renewal is
   * replaced: it would end when the renewal goes on with the present key.
   *
   * @param spreadS over which the requests become due; 0: at once
   * @returns how many orders get a new key
   */
  async rekey(tx: Tx, { accountId, name }: ClusterId, spreadS: number): Promise<number> {
    // Before their requests, as renewals and responses of agents do.
    await this.lockPlans(tx, { accountId, name });
    const [renewals] = await tx.query<[{ planId: string }[], number]>(
      `DELETE FROM key_request WHERE plan_id IN (
         SELECT request.plan_id FROM key_request AS request JOIN order_v3 ON order_v3.plan_id = request.plan_id
         WHERE order_v3.account_id = $1 AND cluster = $2 AND csr IS NOT NULL AND reason = 'renewal'
         ORDER BY request.plan_id FOR UPDATE OF request)
       RETURNING plan_id AS "planId"`,
      [accountId, name],
    );
    const [{ requested }] = await tx.query<[{ requested: number }]>(
      `WITH requested AS (
         INSERT INTO key_request AS request (plan_id, id, reason, due_at) OVERRIDING SYSTEM VALUE
         SELECT plan_id, random_id(), 'rekey', CASE WHEN plan_id = ANY ($4::bigint[]) THEN now()
           ELSE now() + random() * make_interval(secs => $3) END
         FROM order_v3 JOIN plan ON plan.id = plan_id
         WHERE order_v3.account_id = $1 AND cluster = $2 AND csr IS NOT NULL AND closed_at IS NULL
         ORDER BY plan_id
         ON CONFLICT (plan_id) DO UPDATE SET due_at = least(request.due_at, excluded.due_at)
         RETURNING 1)
       SELECT count(*)::int AS requested FROM requested`,
      [accountId, name, spreadS, renewals.map(({ planId }) => planId)],
    );
    return requested;
  }
}
