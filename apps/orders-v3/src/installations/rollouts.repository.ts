import { hasInstallations, hasUnservedHost } from '@certwright/accounts';
import type { Tx } from '@certwright/core-schema';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { OrdersConfig } from '../config';

/** The current certificate of an order on its way to the hosts of a cluster. */
export interface Rollout {
  readonly planId: string;
  readonly accountId: string;
  readonly order: string;
  readonly cluster: string;
  /** Over its DER, in hexadecimal. */
  readonly certificateSha256: string;
  readonly begunAt: Date;
}

/** `overdue`: a live host does not serve it after the grace period. `stopped`: two hosts could not install it. */
export type NoticeOccasion = 'overdue' | 'stopped';

@Injectable()
export class Rollouts {
  private readonly graceS: number;

  constructor(
    private readonly database: DataSource,
    @Inject(OrdersConfig) { INSTALLATION_GRACE }: Pick<OrdersConfig, 'INSTALLATION_GRACE'>,
  ) {
    this.graceS = INSTALLATION_GRACE / 1_000;
  }

  /** Plans whose accounts are to be notified. */
  async due(occasion: NoticeOccasion, limit: number): Promise<readonly string[]> {
    if (!(await hasInstallations(this.database))) return [];
    const rows = await this.database.query<{ planId: string }[]>(
      `SELECT rollout.plan_id AS "planId" ${dueRollouts(occasion)} LIMIT $2`,
      [this.graceS, limit],
    );
    return rows.map(({ planId }) => planId);
  }

  /** @returns null: another process has marked it, or it is no longer due */
  async markNoticed(tx: Tx, occasion: NoticeOccasion, planId: string): Promise<Rollout | null> {
    const [[rollout]] = await tx.query<[Rollout[], number]>(
      `UPDATE rollout AS noticed SET ${noticedAt[occasion]} = clock_timestamp() FROM (
         SELECT rollout.plan_id, order_v3.account_id, order_v3.name, order_v3.cluster
         ${dueRollouts(occasion)} AND rollout.plan_id = $2 FOR UPDATE OF rollout) AS due
       WHERE noticed.plan_id = due.plan_id
       RETURNING noticed.plan_id AS "planId", due.account_id AS "accountId", due.name AS "order", due.cluster,
         encode(noticed.certificate_sha256, 'hex') AS "certificateSha256", noticed.begun_at AS "begunAt"`,
      [this.graceS, planId],
    );
    return rollout ?? null;
  }
}

const noticedAt = { overdue: 'noticed_at', stopped: 'stop_noticed_at' } as const;

const isDue = {
  overdue: `rollout.begun_at < now() - make_interval(secs => $1::float8) AND ${hasUnservedHost('$1::float8')}`,
  stopped: `rollout.stopped_at IS NOT NULL AND $1::float8 IS NOT NULL`,
} as const;

/** Of current certificates that are valid. $1: the grace period, seconds. */
const dueRollouts = (occasion: NoticeOccasion): string => `
  FROM rollout
  JOIN order_v3 ON order_v3.plan_id = rollout.plan_id AND order_v3.cluster IS NOT NULL
  JOIN certificate AS current ON current.plan_id = rollout.plan_id AND current.is_current
    AND current.sha256 = rollout.certificate_sha256 AND current.revoked_at IS NULL AND current.not_after > now()
  WHERE rollout.${noticedAt[occasion]} IS NULL AND ${isDue[occasion]}`;
