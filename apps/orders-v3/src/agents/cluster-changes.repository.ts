import { limits } from '@certwright/agent-contract';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type ClusterChanges, positionOf, type Rollout, type Seal, type SeenOrder } from './cluster-state';

export interface ClusterKey {
  readonly accountId: string;
  readonly name: string;
}

export interface KnownCluster extends ClusterKey {
  readonly version: number;
  readonly sealsMissing: boolean;
}

interface ChangesRow {
  readonly version: string;
  readonly members_version: string;
  readonly member_count: number;
  readonly reset_before: string;
  readonly cluster_key: Buffer | null;
  readonly changes: readonly {
    readonly version: number;
    readonly plan_id: string | null;
    readonly released: string | null;
  }[];
}

interface OrderRow extends Omit<SeenOrder, 'version' | 'rollout' | 'certificate' | 'makeKey' | 'seals'> {
  readonly version: string;
  readonly certSha256: string | null;
  readonly certSpkiSha256: string | null;
  readonly notBefore: Date | null;
  readonly notAfter: Date | null;
  readonly taskId: string | null;
  readonly taskAgent: string | null;
  readonly taskUntil: Date | null;
  readonly rollout: Rollout | null;
  readonly seals: readonly Seal[] | null;
}

/** RFC 3339, whole seconds: certificates have no more. */
const seconds = (time: Date) => `${time.toISOString().slice(0, 19)}Z`;

/** What agents see, in a number of statements that does not depend on the number of orders. */
@Injectable()
export class ClusterChangesRepository {
  constructor(private readonly database: DataSource) {}

  /** The clusters that still exist. One statement for all waiting agents. */
  async versionsOf(clusters: readonly ClusterKey[]): Promise<KnownCluster[]> {
    const rows = await this.database.query<(Omit<KnownCluster, 'version'> & { readonly version: string })[]>(
      `SELECT cluster.account_id AS "accountId", cluster.name, version, seals_missing AS "sealsMissing"
       FROM unnest($1::bigint[], $2::text[]) AS waiting (account_id, name)
       JOIN cluster ON cluster.account_id = waiting.account_id AND cluster.name = waiting.name`,
      [clusters.map(({ accountId }) => accountId), clusters.map(({ name }) => name)],
    );
    return rows.map((row) => ({ ...row, version: Number(row.version) }));
  }

  /**
   * One page. Versions and changes are read in one statement: everything up to `version` is in it. The orders are read
   * afterwards; what is newer in them is listed again with a later version.
   *
   * @returns null when the cluster was deleted
   */
  async after({ accountId, name }: ClusterKey, after: number): Promise<ClusterChanges | null> {
    const [row] = await this.database.query<[ChangesRow?]>(changesStatement, [
      accountId,
      name,
      positionOf(after),
      limits.maxOrdersPerState + 1,
    ]);
    if (row === undefined) return null;
    const hasMore = row.changes.length > limits.maxOrdersPerState;
    const page = row.changes.slice(0, limits.maxOrdersPerState);
    const planIds = [...new Set(page.flatMap(({ plan_id: planId }) => (planId === null ? [] : [planId])))];
    return {
      name,
      clusterKey: row.cluster_key?.toString('base64url') ?? null,
      version: hasMore ? (page.at(-1)?.version ?? 0) : Number(row.version),
      hasMore,
      membersVersion: Number(row.members_version),
      memberCount: row.member_count,
      resetBefore: Number(row.reset_before),
      orders: planIds.length === 0 ? [] : await this.orders(accountId, name, planIds),
      released: page.flatMap(({ released, version }) =>
        released === null ? [] : [{ name: released, version }],
      ),
    };
  }

  private async orders(accountId: string, cluster: string, planIds: readonly string[]): Promise<SeenOrder[]> {
    const rows = await this.database.query<OrderRow[]>(ordersStatement, [planIds, accountId, cluster]);
    return rows.map(
      ({ certSha256, certSpkiSha256, notBefore, notAfter, taskId, taskAgent, taskUntil, ...row }) => ({
        ...row,
        version: Number(row.version),
        certificate:
          certSha256 === null || certSpkiSha256 === null || notBefore === null || notAfter === null
            ? null
            : {
                sha256: certSha256,
                spki_sha256: certSpkiSha256,
                not_before: seconds(notBefore),
                not_after: seconds(notAfter),
              },
        makeKey:
          taskId === null || taskAgent === null || taskUntil === null
            ? null
            : { id: taskId, agentId: taskAgent, until: seconds(taskUntil) },
        seals: row.seals ?? [],
      }),
    );
  }
}

/** Sealing tasks concern one agent only, but are read for all: few agents read a page at different times. */
const changesStatement = `
  SELECT version, members_version, reset_before, cluster_key,
    (SELECT count(*)::int FROM agent WHERE account_id = $1 AND cluster = $2 AND removed_at IS NULL) AS member_count,
    (SELECT coalesce(jsonb_agg(to_jsonb(change) ORDER BY change.version), '[]') FROM (
       SELECT * FROM (
         (SELECT agent_version AS version, plan_id::text, NULL::text AS released FROM order_v3
          WHERE account_id = $1 AND cluster = $2 AND agent_version > $3 ORDER BY agent_version LIMIT $4)
         UNION ALL
         (SELECT seal_version, plan_id::text, NULL FROM managed_key
          WHERE account_id = $1 AND cluster = $2 AND sealer IS NOT NULL AND seal_version > $3
          ORDER BY seal_version LIMIT $4)
         UNION ALL
         (SELECT version, NULL, order_name FROM cluster_release
          WHERE account_id = $1 AND cluster = $2 AND version > $3 ORDER BY version LIMIT $4)) AS each
       ORDER BY version LIMIT $4) AS change) AS changes
  FROM cluster WHERE account_id = $1 AND name = $2`;

const ordersStatement = `
  SELECT order_v3.plan_id AS "planId", order_v3.name, order_v3.agent_version AS version, plan.revision,
    order_v3.dns_names AS "dnsNames", order_v3.key_type AS "keyType", order_v3.product, plan.paused,
    encode(order_v3.spki_sha256, 'hex') AS "csrSpkiSha256",
    encode(certificate.sha256, 'hex') AS "certSha256", encode(certificate.spki_sha256, 'hex') AS "certSpkiSha256",
    certificate.not_before AS "notBefore", certificate.not_after AS "notAfter",
    request.id AS "taskId", request.agent_id AS "taskAgent", request.assigned_until AS "taskUntil",
    (SELECT jsonb_build_object('certificateSha256', encode(certificate_sha256, 'hex'), 'firstAgent', first_agent,
       'isServed', served_at IS NOT NULL, 'isStopped', stopped_at IS NOT NULL, 'broken', broken)
     FROM rollout WHERE rollout.plan_id = plan.id) AS rollout,
    (SELECT jsonb_agg(jsonb_build_object('spkiSha256', encode(key.spki_sha256, 'hex'), 'sealer', key.sealer,
       'version', key.seal_version, 'members', (
         SELECT coalesce(jsonb_agg(agent.id ORDER BY agent.id), '[]') FROM agent
         WHERE agent.account_id = $2 AND agent.cluster = $3 AND removed_at IS NULL AND agent.id <> key.made_by
           AND NOT EXISTS (SELECT 1 FROM sealed_key AS sealed WHERE sealed.account_id = key.account_id
             AND sealed.cluster = key.cluster AND sealed.spki_sha256 = key.spki_sha256 AND sealed.receiver = agent.id))))
     FROM managed_key AS key WHERE key.plan_id = plan.id AND key.account_id = $2 AND key.cluster = $3
       AND key.sealer IS NOT NULL AND key.seal_until > clock_timestamp()) AS seals
  FROM order_v3 JOIN plan ON plan.id = order_v3.plan_id
  LEFT JOIN certificate ON certificate.plan_id = plan.id AND certificate.is_current
    AND certificate.revoked_at IS NULL AND certificate.not_after >= now()
  LEFT JOIN key_request AS request ON request.plan_id = plan.id AND request.assigned_until > clock_timestamp()
  WHERE order_v3.plan_id = ANY ($1::bigint[]) AND order_v3.account_id = $2 AND order_v3.cluster = $3`;
