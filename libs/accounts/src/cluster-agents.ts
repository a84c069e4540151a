import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { ClusterId } from './clusters';

/** A program on a host that is a member of a cluster. */
export interface ClusterAgent {
  /** base64url of the first 16 bytes of the SHA-256 over its identity key. */
  readonly id: string;
  /** As it reported them. */
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  readonly problem: string | null;
  readonly state: AgentState;
  readonly lastSeenAt: Date | null;
  /** Its clock minus ours. */
  readonly clockOffsetS: number | null;
  readonly enrolledAt: Date;
}

export type AgentState = 'online' | 'offline' | 'removed';

/** An agent that was not seen for longer is offline. It polls every 50 s, and what was seen is written every few minutes. */
export const maxSilenceMinutes = 15;

/** What to do about an agent that is offline. @param reported the last problem that it reported */
export function offlineAdvice(reported: string | null): string {
  const advice = `The agent has not been heard of for ${maxSilenceMinutes} minutes. Check on the host that certwright-agent runs and reaches this server: certwright-agent check.`;
  return reported === null ? advice : `${advice} Its last report: ${reported}`;
}

/** SQL: whether an agent is a member and was seen recently. One that has just enrolled counts. */
export const isAgentLive = (agent: string): string =>
  `(${agent}.removed_at IS NULL
    AND coalesce(${agent}.last_seen_at, ${agent}.enrolled_at) > now() - interval '${maxSilenceMinutes} minutes')`;

/** SQL: an `AgentState`. */
export const agentState = (agent: string): string =>
  `CASE WHEN ${agent}.removed_at IS NOT NULL THEN 'removed' WHEN ${isAgentLive(agent)} THEN 'online' ELSE 'offline' END`;

const columns = `id, name, version, platform, problem, ${agentState('agent')} AS state,
  last_seen_at AS "lastSeenAt", clock_offset_s AS "clockOffsetS", enrolled_at AS "enrolledAt"`;

@Injectable()
export class ClusterAgents {
  constructor(private readonly database: DataSource) {}

  /** By id, removed ones included. */
  async page({ accountId, name }: ClusterId, after: string | null, limit: number): Promise<ClusterAgent[]> {
    return await this.database.query(
      `SELECT ${columns} FROM agent
       WHERE account_id = $1 AND cluster = $2 AND ($3::text IS NULL OR id > $3) ORDER BY id LIMIT $4`,
      [accountId, name, after, limit],
    );
  }

  async find({ accountId, name }: ClusterId, id: string): Promise<ClusterAgent | null> {
    const rows: ClusterAgent[] = await this.database.query(
      `SELECT ${columns} FROM agent WHERE account_id = $1 AND cluster = $2 AND id = $3`,
      [accountId, name, id],
    );
    return rows[0] ?? null;
  }

  /**
   * Its requests are refused from now on (running processes learn it within 10 s). What was sealed for it is deleted; a key
   * that it should make is made by another one.
   *
   * @returns false when the cluster has no such agent; removing it again changes nothing
   */
  async remove(tx: Tx, { accountId, name }: ClusterId, id: string): Promise<boolean> {
    const [, known] = await tx.query<[unknown, number]>(
      `UPDATE agent SET removed_at = coalesce(removed_at, clock_timestamp())
       WHERE account_id = $1 AND cluster = $2 AND id = $3`,
      [accountId, name, id],
    );
    if (known === 0) return false;
    await tx.query(`UPDATE key_request SET agent_id = NULL, assigned_until = NULL WHERE agent_id = $1`, [id]);
    // By keys: a cluster has up to a thousand sealed keys for each of them.
    await tx.query(
      `DELETE FROM sealed_key WHERE (account_id, cluster, spki_sha256, receiver) IN (
         SELECT account_id, cluster, spki_sha256, $3 FROM managed_key WHERE account_id = $1 AND cluster = $2)`,
      [accountId, name, id],
    );
    await tx.query(`DELETE FROM installation WHERE agent_id = $1`, [id]);
    return true;
  }
}
