import type { SealedKey } from '@certwright/agent-contract';
import type { KeyRequestReason, Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { notAnAgent } from '../wire/problems';
import type { Agent } from './agent-directory';

type Of = Pick<Agent, 'accountId' | 'cluster'>;

export interface KeyRequest {
  readonly id: string;
  readonly agentId: string | null;
  readonly reason: KeyRequestReason;
}

export interface ManagedKey {
  readonly planId: string;
  readonly madeBy: string;
  readonly taskId: string;
  readonly csrSha256: Buffer;
  readonly revision: number;
  readonly sealer: string | null;
}

export interface StoredMember {
  readonly id: string;
  readonly name: string;
  readonly identityKey: Buffer;
  readonly sealingKey: Buffer;
  readonly statement: string | null;
}

/** Keys, members and certificates of the cluster of an agent, and of no other one. */
@Injectable()
export class AgentOrders {
  constructor(private readonly database: DataSource) {}

  /** Version and members are read in one statement. */
  async members({
    accountId,
    cluster,
  }: Of): Promise<{ readonly version: number; readonly members: StoredMember[] }> {
    const rows = await this.database.query<(StoredMember & { version: string })[]>(
      `SELECT members_version AS version, agent.id, agent.name, identity_key AS "identityKey",
         sealing_key AS "sealingKey", statement
       FROM cluster JOIN agent ON agent.account_id = cluster.account_id AND agent.cluster = cluster.name
       WHERE cluster.account_id = $1 AND cluster.name = $2 AND removed_at IS NULL ORDER BY agent.id`,
      [accountId, cluster],
    );
    return { version: Number(rows[0]?.version ?? 0), members: rows };
  }

  /** @returns null unless it is a certificate of an order of the cluster */
  async certificate(
    { accountId, cluster }: Of,
    sha256: Buffer,
  ): Promise<{ readonly leaf: Buffer; readonly chain: readonly Buffer[]; readonly root: Buffer } | null> {
    const rows = await this.database.query<{ leaf: Buffer; chain: Buffer[]; root: Buffer }[]>(
      `SELECT leaf, chain, root FROM order_v3 JOIN certificate ON certificate.plan_id = order_v3.plan_id
       JOIN certificate_chain ON certificate_chain.sha256 = certificate.chain_sha256
       WHERE certificate.sha256 = $3 AND order_v3.account_id = $1 AND order_v3.cluster = $2 LIMIT 1`,
      [accountId, cluster, sha256],
    );
    return rows[0] ?? null;
  }

  /** Those for the agent; null when the order is not in its cluster. */
  async sealedKeys(
    { id, accountId, cluster }: Agent,
    order: string,
    spkiSha256: Buffer,
  ): Promise<SealedKey[] | null> {
    const rows = await this.database.query<
      { sender: string | null; enc: Buffer; ciphertext: Buffer; signature: Buffer }[]
    >(
      `SELECT sealed.sender, enc, ciphertext, signature FROM order_v3
       LEFT JOIN managed_key AS key ON key.plan_id = order_v3.plan_id AND key.account_id = $1 AND key.cluster = $2
         AND key.spki_sha256 = $4
       LEFT JOIN sealed_key AS sealed ON sealed.account_id = $1 AND sealed.cluster = $2
         AND sealed.spki_sha256 = key.spki_sha256 AND sealed.receiver = $5
       WHERE order_v3.account_id = $1 AND order_v3.cluster = $2 AND order_v3.name = $3`,
      [accountId, cluster, order, spkiSha256, id],
    );
    if (rows.length === 0) return null;
    return rows.flatMap(({ sender, enc, ciphertext, signature }) =>
      sender === null
        ? []
        : [
            {
              sender,
              receiver: id,
              enc: enc.toString('base64url'),
              ciphertext: ciphertext.toString('base64url'),
              signature: signature.toString('base64url'),
            },
          ],
    );
  }

  /**
   * The members other than the agent, and the version of the list.
   *
   * @throws Problem `bad_credentials` when the agent was removed: a process notices that some seconds later
   */
  async othersOf(
    tx: Tx,
    { id, accountId, cluster }: Agent,
  ): Promise<{ version: string; others: ReadonlySet<string> }> {
    const rows = await tx.query<{ version: string; id: string }[]>(
      `SELECT members_version AS version, agent.id FROM cluster
       JOIN agent ON agent.account_id = cluster.account_id AND agent.cluster = cluster.name
       WHERE cluster.account_id = $1 AND cluster.name = $2 AND removed_at IS NULL`,
      [accountId, cluster],
    );
    const ids = rows.map((row) => row.id);
    if (!ids.includes(id)) throw notAnAgent();
    return { version: rows[0]?.version ?? '', others: new Set(ids.filter((other) => other !== id)) };
  }

  /** Holds the cluster until the end of the transaction, as its last lock: members join before or after it. */
  async lockMembers(tx: Tx, { accountId, cluster }: Of): Promise<string> {
    const [row] = await tx.query<[{ version: string }?]>(
      `SELECT members_version AS version FROM cluster WHERE account_id = $1 AND name = $2 FOR NO KEY UPDATE`,
      [accountId, cluster],
    );
    return row?.version ?? '';
  }

  /** Of a plan that the caller holds. */
  async keyRequest(tx: Tx, planId: string): Promise<KeyRequest | null> {
    const rows = await tx.query<KeyRequest[]>(
      `SELECT id, agent_id AS "agentId", reason FROM key_request WHERE plan_id = $1`,
      [planId],
    );
    return rows[0] ?? null;
  }

  async managedKey(tx: Tx, { accountId, cluster }: Of, spkiSha256: Buffer): Promise<ManagedKey | null> {
    const rows = await tx.query<ManagedKey[]>(
      `SELECT plan_id AS "planId", made_by AS "madeBy", task_id AS "taskId", csr_sha256 AS "csrSha256", revision, sealer
       FROM managed_key WHERE account_id = $1 AND cluster = $2 AND spki_sha256 = $3`,
      [accountId, cluster, spkiSha256],
    );
    return rows[0] ?? null;
  }

  /** Whether a certificate or an order of the account has this key. */
  async isUsed(tx: Tx, accountId: string, spkiSha256: Buffer): Promise<boolean> {
    const [{ used }] = await tx.query<[{ used: boolean }]>(
      `SELECT EXISTS (SELECT 1 FROM certificate WHERE account_id = $1 AND spki_sha256 = $2)
         OR EXISTS (SELECT 1 FROM terms JOIN plan ON plan.id = plan_id WHERE account_id = $1 AND spki_sha256 = $2)
         AS used`,
      [accountId, spkiSha256],
    );
    return used;
  }

  /** @returns false when another order of the cluster has the key since `isUsed` looked */
  async insertKey(
    tx: Tx,
    agent: Agent,
    spkiSha256: Buffer,
    key: Omit<ManagedKey, 'madeBy' | 'sealer'>,
  ): Promise<boolean> {
    const rows = await tx.query<unknown[]>(
      `INSERT INTO managed_key (account_id, cluster, spki_sha256, plan_id, made_by, task_id, csr_sha256, revision)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING 1 AS added`,
      [
        agent.accountId,
        agent.cluster,
        spkiSha256,
        key.planId,
        agent.id,
        key.taskId,
        key.csrSha256,
        key.revision,
      ],
    );
    return rows.length > 0;
  }

  /** A receiver that has the key already keeps what it has. @returns how many were new */
  async insertSealed(
    tx: Tx,
    { accountId, cluster }: Of,
    spkiSha256: Buffer,
    keys: readonly SealedKey[],
  ): Promise<number> {
    const bytesOf = (member: 'enc' | 'ciphertext' | 'signature') =>
      keys.map((key) => Buffer.from(key[member], 'base64url'));
    const rows = await tx.query<unknown[]>(
      `INSERT INTO sealed_key (account_id, cluster, spki_sha256, receiver, sender, enc, ciphertext, signature)
       SELECT $1, $2, $3, receiver, sender, enc, ciphertext, signature
       FROM unnest($4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::bytea[])
         AS sealed (receiver, sender, enc, ciphertext, signature)
       ON CONFLICT DO NOTHING RETURNING 1 AS added`,
      [
        ...[
          accountId,
          cluster,
          spkiSha256,
          keys.map(({ receiver }) => receiver),
          keys.map(({ sender }) => sender),
        ],
        ...[bytesOf('enc'), bytesOf('ciphertext'), bytesOf('signature')],
      ],
    );
    return rows.length;
  }
}
