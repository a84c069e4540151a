import type { InstallationMessage } from '@certwright/agent-contract';
import { Transactions, type Tx } from '@certwright/core-schema';
import { type FieldFault, Problem } from '@certwright/errors';
import { Injectable } from '@nestjs/common';
import type { Agent } from './agent-directory';
import type { ReportBody } from './agent-requests';
import { Rollouts } from './rollouts.repository';

/** A report without news rewrites what was checked after this time: an hourly report is rarely written. */
const rewriteAfter = `interval '150 minutes'`;

/** Faults in one response. */
const maxFaults = 20;

@Injectable()
export class ReceiveReport {
  constructor(
    private readonly transactions: Transactions,
    private readonly rollouts: Rollouts,
  ) {}

  /**
   * Replaces the installations of the orders that the report names. One with an older or the same number changes
   * nothing.
   *
   * @throws Problem `bad_request` for orders of other clusters
   */
  async run(agent: Agent, report: ReportBody): Promise<void> {
    const { without_points: without, installations } = report;
    const names = [...new Set([...without, ...installations.map(({ order }) => order)])];
    await this.transactions.run(async (tx) => {
      const plans = await lockPlans(tx, agent, names);
      const faults = await unknownOrders(tx, agent, report, plans);
      if (faults.length > 0) throw Problem.ofFields(faults.slice(0, maxFaults));
      if (!(await isNewer(tx, agent, report))) return;
      const known = installations.filter(({ order }) => plans.has(order));
      await replace(tx, agent, [...plans.values()], known, plans);
      const reported = new Map(
        [...plans].map(([name, planId]) => [
          planId,
          {
            states: known
              .filter(({ order }) => order === name)
              .map(({ state, certificate_sha256: certificateSha256 }) => ({ state, certificateSha256 })),
          },
        ]),
      );
      if (reported.size > 0) await this.rollouts.follow(tx, agent.id, reported);
    });
  }
}

/** Order name → plan, of the orders of the cluster. Held, since roll-outs may follow. */
async function lockPlans(
  tx: Tx,
  { accountId, cluster }: Agent,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await tx.query<{ name: string; planId: string }[]>(
    `SELECT order_v3.name, plan.id AS "planId" FROM order_v3 JOIN plan ON plan.id = order_v3.plan_id
     WHERE order_v3.account_id = $1 AND order_v3.cluster = $2 AND order_v3.name = ANY ($3::text[])
     ORDER BY plan.id FOR NO KEY UPDATE OF plan`,
    [accountId, cluster, names],
  );
  return new Map(rows.map(({ name, planId }) => [name, planId]));
}

/** What an agent says about orders that have just left the cluster is ignored. */
async function unknownOrders(
  tx: Tx,
  { accountId, cluster }: Agent,
  { installations, without_points: without }: ReportBody,
  plans: ReadonlyMap<string, string>,
): Promise<FieldFault[]> {
  const named = [
    ...installations.flatMap(({ order, state }, index) =>
      state === 'released' ? [] : [{ order, field: `installations[${index}].order` }],
    ),
    ...without.map((order, index) => ({ order, field: `without_points[${index}]` })),
  ].filter(({ order }) => !plans.has(order));
  if (named.length === 0) return [];
  const rows = await tx.query<{ name: string }[]>(
    `SELECT order_name AS name FROM cluster_release
     WHERE account_id = $1 AND cluster = $2 AND order_name = ANY ($3::text[])`,
    [accountId, cluster, named.map(({ order }) => order)],
  );
  const released = new Set(rows.map(({ name }) => name));
  return named
    .filter(({ order }) => !released.has(order))
    .map(({ field }) => ({
      field,
      code: 'invalid_value',
      message: 'The cluster has no order of this name.',
    }));
}

async function isNewer(tx: Tx, { id }: Agent, { number, agent }: ReportBody): Promise<boolean> {
  const [, changed] = await tx.query<[unknown, number]>(
    `UPDATE agent SET report_number = $2, version = $3, platform = $4, problem = $5
     WHERE id = $1 AND report_number < $2 AND removed_at IS NULL`,
    [id, number, agent.version, agent.platform, agent.problem],
  );
  return changed > 0;
}

async function replace(
  tx: Tx,
  { id }: Agent,
  planIds: readonly string[],
  installations: readonly InstallationMessage[],
  plans: ReadonlyMap<string, string>,
): Promise<void> {
  if (planIds.length === 0) return;
  // One installation per point: of two, the last counts.
  const points = [
    ...new Map(installations.map((each) => [JSON.stringify([each.order, each.point]), each])).values(),
  ];
  const planOf = ({ order }: InstallationMessage) => plans.get(order);
  await tx.query(
    `DELETE FROM installation WHERE agent_id = $1 AND plan_id = ANY ($2::bigint[])
       AND (plan_id, point) NOT IN (SELECT * FROM unnest($3::bigint[], $4::text[]))`,
    [id, planIds, points.map(planOf), points.map(({ point }) => point)],
  );
  if (points.length === 0) return;
  await tx.query(
    `INSERT INTO installation AS own (plan_id, agent_id, point, state, certificate_sha256, served, since, problem)
     SELECT plan_id, $1, point, state, decode(sha256, 'hex'), served, since, problem
     FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::jsonb[], $7::timestamptz[], $8::text[])
       AS reported (plan_id, point, state, sha256, served, since, problem)
     ON CONFLICT (plan_id, agent_id, point) DO UPDATE SET state = excluded.state,
       certificate_sha256 = excluded.certificate_sha256, served = excluded.served, since = excluded.since,
       problem = excluded.problem, updated_at = now()
     WHERE (own.state, own.certificate_sha256, own.since, own.problem)
         IS DISTINCT FROM (excluded.state, excluded.certificate_sha256, excluded.since, excluded.problem)
       OR jsonb_path_query_array(own.served, '$[*].sha256') <> jsonb_path_query_array(excluded.served, '$[*].sha256')
       OR jsonb_path_query_array(own.served, '$[*].address') <> jsonb_path_query_array(excluded.served, '$[*].address')
       OR own.updated_at < now() - ${rewriteAfter}`,
    [
      id,
      points.map(planOf),
      points.map(({ point }) => point),
      points.map(({ state }) => state),
      points.map(({ certificate_sha256: sha256 }) => sha256),
      points.map(({ served }) => JSON.stringify(served)),
      points.map(({ since }) => since),
      points.map(({ problem }) => problem),
    ],
  );
}
