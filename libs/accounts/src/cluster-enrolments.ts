import { enrolmentTokenSha256, newEnrolmentToken } from '@certwright/agent-contract';
import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { ClusterId } from './clusters';

/** A token with which hosts enrol. Only its digest is stored. */
export interface ClusterEnrolment {
  readonly id: string;
  /** Hosts that can enrol, and those that have. */
  readonly uses: number;
  readonly used: number;
  readonly expiresAt: Date;
  readonly isExpired: boolean;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

export interface EnrolmentTerms {
  readonly uses: number;
  readonly expiresInS: number;
}

/** Tokens of a cluster that hosts can still enrol with. */
export const maxActiveEnrolments = 1_000;

/** How long tokens that ended are listed. */
const keptDays = 30;

const columns = `id, uses, used, expires_at AS "expiresAt", expires_at <= clock_timestamp() AS "isExpired",
  created_at AS "createdAt", revoked_at AS "revokedAt"`;

const isActive = `revoked_at IS NULL AND used < uses AND expires_at > clock_timestamp()`;

@Injectable()
export class ClusterEnrolments {
  constructor(private readonly database: DataSource) {}

  /**
   * The caller holds the cluster. Also forgets its tokens that ended, and its agents that were removed, 30 days ago.
   *
   * @returns also the token, which cannot be read again later; null: the cluster has the maximum number of active tokens
   */
  async create(
    tx: Tx,
    { accountId, name }: ClusterId,
    { uses, expiresInS }: EnrolmentTerms,
  ): Promise<{ readonly enrolment: ClusterEnrolment; readonly token: string } | null> {
    await this.forgetEnded(tx, { accountId, name });
    const [{ active }] = await tx.query<[{ active: number }]>(
      `SELECT count(*)::int AS active FROM cluster_enrolment WHERE account_id = $1 AND cluster = $2 AND ${isActive}`,
      [accountId, name],
    );
    if (active >= maxActiveEnrolments) return null;
    const token = newEnrolmentToken();
    const [enrolment] = await tx.query<[ClusterEnrolment]>(
      `INSERT INTO cluster_enrolment (account_id, cluster, token_sha256, uses, expires_at)
       VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5)) RETURNING ${columns}`,
      [accountId, name, enrolmentTokenSha256(token), uses, expiresInS],
    );
    return { enrolment, token };
  }

  /** Newest first; without those that ended long ago. */
  async page(
    { accountId, name }: ClusterId,
    afterId: string | null,
    limit: number,
  ): Promise<ClusterEnrolment[]> {
    return await this.database.query(
      `SELECT ${columns} FROM cluster_enrolment
       WHERE account_id = $1 AND cluster = $2 AND greatest(revoked_at, expires_at) >= now() - make_interval(days => $5)
         AND ($3::bigint IS NULL OR (created_at, id) < (
           SELECT created_at, id FROM cluster_enrolment AS last
           WHERE last.id = $3 AND last.account_id = $1 AND last.cluster = $2))
       ORDER BY created_at DESC, id DESC LIMIT $4`,
      [accountId, name, afterId, limit, keptDays],
    );
  }

  /** @returns false when the cluster has no such token; revoking it again changes nothing */
  async revoke({ accountId, name }: ClusterId, id: string): Promise<boolean> {
    const [, revoked] = await this.database.query<[unknown, number]>(
      `UPDATE cluster_enrolment SET revoked_at = coalesce(revoked_at, clock_timestamp())
       WHERE id = $3 AND account_id = $1 AND cluster = $2`,
      [accountId, name, id],
    );
    return revoked > 0;
  }

  private async forgetEnded(tx: Tx, { accountId, name }: ClusterId): Promise<void> {
    await tx.query(
      `DELETE FROM agent
       WHERE account_id = $1 AND cluster = $2 AND removed_at < now() - make_interval(days => $3)`,
      [accountId, name, keptDays],
    );
    await tx.query(
      `DELETE FROM cluster_enrolment AS enrolment
       WHERE account_id = $1 AND cluster = $2
         AND greatest(revoked_at, expires_at) < now() - make_interval(days => $3)
         AND NOT EXISTS (
           SELECT 1 FROM agent WHERE enrolment_id = enrolment.id AND account_id = $1 AND cluster = $2)`,
      [accountId, name, keptDays],
    );
  }
}
