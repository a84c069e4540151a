import { Transactions, type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { ClusterKey } from './cluster-changes.repository';
import { reportedOutcome, type Rollout, type SeenOrder } from './cluster-state';

/** An agent that does not report within this time loses its turn; doubled with each turn, up to 32 times. */
const turn = { ms: 120_000, maxDoublings: 5 };

/** Silent roll-outs that are passed on in one statement. */
export const maxPassed = 200;

/** Agents that serve the certificate of an order one after the other: the first one shows that it works. */
@Injectable()
export class Rollouts {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /**
   * Begins the roll-outs of certificates that have none, and gives open turns to one of these agents: preferably one
   * that has installed the order before, and was not broken. One that was replaced since it was read has no roll-out.
   *
   * @param agents that poll now
   * @returns the orders with their roll-outs
   */
  async begin(orders: readonly SeenOrder[], agents: readonly string[]): Promise<readonly SeenOrder[]> {
    const due = orders.filter(
      ({ certificate, rollout }) => certificate !== null && isOpen(certificate.sha256, rollout),
    );
    if (due.length === 0 || agents.length === 0) return orders;
    const points = await this.withPoints(
      due.map(({ planId }) => planId),
      agents,
    );
    const chosen = due.map((order) => firstOf(order, agents, points.get(order.planId) ?? new Set()));
    const rows = await this.database.query<(Rollout & { planId: string })[]>(
      `INSERT INTO rollout AS own (plan_id, certificate_sha256, first_agent, first_since)
       SELECT chosen.plan_id, certificate.sha256, agent, clock_timestamp()
       FROM unnest($1::bigint[], $2::text[], $3::text[]) AS chosen (plan_id, sha256, agent)
       JOIN certificate ON certificate.plan_id = chosen.plan_id AND is_current
         AND certificate.sha256 = decode(chosen.sha256, 'hex')
       ORDER BY chosen.plan_id
       ON CONFLICT (plan_id) DO UPDATE SET
         certificate_sha256 = excluded.certificate_sha256,
         begun_at = CASE WHEN own.certificate_sha256 = excluded.certificate_sha256 THEN own.begun_at ELSE clock_timestamp() END,
         first_agent = excluded.first_agent, first_since = excluded.first_since,
         turns = CASE WHEN own.certificate_sha256 = excluded.certificate_sha256 THEN own.turns + 1 ELSE 0 END,
         broken = CASE WHEN own.certificate_sha256 = excluded.certificate_sha256 THEN own.broken ELSE '{}' END,
         served_at = NULL, stopped_at = NULL,
         stop_noticed_at = CASE WHEN own.certificate_sha256 = excluded.certificate_sha256 THEN own.stop_noticed_at END,
         noticed_at = CASE WHEN own.certificate_sha256 = excluded.certificate_sha256 THEN own.noticed_at END
       WHERE own.certificate_sha256 <> excluded.certificate_sha256
         OR (own.first_agent IS NULL AND own.served_at IS NULL AND own.stopped_at IS NULL)
       RETURNING plan_id AS "planId", encode(certificate_sha256, 'hex') AS "certificateSha256",
         first_agent AS "firstAgent", false AS "isServed", false AS "isStopped", broken`,
      [due.map(({ planId }) => planId), due.map(({ certificate }) => certificate?.sha256), chosen],
    );
    const begun = new Map(rows.map(({ planId, ...rollout }) => [planId, rollout]));
    return orders.map((order) => ({ ...order, rollout: begun.get(order.planId) ?? order.rollout }));
  }

  /**
   * Passes the turns of silent agents on to others that poll now. The accounts take turns, and their clusters: where no
   * other agent polls, roll-outs stay silent, and must not keep others from being found.
   *
   * @param agentsOf those of a cluster that poll now
   */
  async passOn(
    clusters: readonly ClusterKey[],
    agentsOf: (cluster: ClusterKey) => readonly string[],
  ): Promise<number> {
    return await this.transactions.run(async (tx) => {
      const silent = await tx.query<
        { planId: string; accountId: string; name: string; firstAgent: string; broken: string[] }[]
      >(
        `SELECT plan.id AS "planId", silent.account_id AS "accountId", silent.name, silent.first_agent AS "firstAgent", broken
         FROM (
           SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY nth, first_since) AS turn
           FROM (
             SELECT rollout.plan_id, order_v3.account_id, order_v3.cluster AS name, first_agent, first_since, broken,
               row_number() OVER (PARTITION BY order_v3.account_id, order_v3.cluster ORDER BY first_since) AS nth
             FROM rollout JOIN order_v3 ON order_v3.plan_id = rollout.plan_id
             JOIN unnest($1::bigint[], $2::text[]) AS waiting (account_id, name)
               ON waiting.account_id = order_v3.account_id AND waiting.name = order_v3.cluster
             WHERE served_at IS NULL AND stopped_at IS NULL
               AND first_since < clock_timestamp() - $3 * power(2, least(turns, $4)) * interval '1 millisecond') AS of_cluster
           ORDER BY turn, first_since LIMIT ${maxPassed}) AS silent
         JOIN plan ON plan.id = silent.plan_id
         ORDER BY plan.id FOR UPDATE OF plan SKIP LOCKED`,
        [
          clusters.map(({ accountId }) => accountId),
          clusters.map(({ name }) => name),
          turn.ms,
          turn.maxDoublings,
        ],
      );
      const passed = silent.flatMap(({ planId, accountId, name, firstAgent, broken }) => {
        const others = agentsOf({ accountId, name }).filter(
          (id) => id !== firstAgent && !broken.includes(id),
        );
        const next = others[Math.floor(Math.random() * others.length)];
        return next === undefined ? [] : [{ planId, firstAgent, next }];
      });
      if (passed.length === 0) return 0;
      await tx.query(
        `UPDATE rollout SET first_agent = passed.next, first_since = clock_timestamp(), turns = turns + 1
         FROM unnest($1::bigint[], $2::text[], $3::text[]) AS passed (plan_id, silent, next)
         WHERE rollout.plan_id = passed.plan_id AND first_agent = silent AND served_at IS NULL AND stopped_at IS NULL`,
        [
          passed.map(({ planId }) => planId),
          passed.map(({ firstAgent }) => firstAgent),
          passed.map(({ next }) => next),
        ],
      );
      await tx.query(`SELECT order_is_seen_by_agents(id) FROM unnest($1::bigint[]) AS id`, [
        passed.map(({ planId }) => planId),
      ]);
      return passed.length;
    });
  }

  /**
   * What an agent has reported about its installations of these plans. The caller holds the plans.
   *
   * @param reported plan id → its installations
   */
  async follow(
    tx: Tx,
    agentId: string,
    reported: ReadonlyMap<string, Parameters<typeof reportedOutcome>[0]>,
  ): Promise<void> {
    const rows = await tx.query<(Rollout & { planId: string; othersHavePoints: boolean })[]>(
      `SELECT plan_id AS "planId", encode(certificate_sha256, 'hex') AS "certificateSha256",
         first_agent AS "firstAgent", served_at IS NOT NULL AS "isServed", stopped_at IS NOT NULL AS "isStopped", broken,
         EXISTS (SELECT 1 FROM installation WHERE installation.plan_id = rollout.plan_id AND agent_id <> $2
           AND state <> 'released') AS "othersHavePoints"
       FROM rollout WHERE plan_id = ANY ($1::bigint[]) ORDER BY plan_id FOR UPDATE`,
      [[...reported.keys()], agentId],
    );
    const changed: string[] = [];
    for (const { planId, othersHavePoints, ...rollout } of rows) {
      const points = reported.get(planId) ?? { states: [] };
      const outcome = reportedOutcome(points, rollout.certificateSha256);
      const next = rolloutAfter(rollout, agentId, outcome, othersHavePoints);
      if (next === null) continue;
      await tx.query(
        `UPDATE rollout SET first_agent = $2, first_since = CASE WHEN $2::text IS NULL THEN NULL ELSE first_since END,
           broken = $3, served_at = CASE WHEN $4 THEN coalesce(served_at, clock_timestamp()) END,
           stopped_at = CASE WHEN $5 THEN coalesce(stopped_at, clock_timestamp()) END,
           stop_noticed_at = CASE WHEN $5 THEN stop_noticed_at END
         WHERE plan_id = $1`,
        [planId, next.firstAgent, next.broken, next.isServed, next.isStopped],
      );
      changed.push(planId);
    }
    if (changed.length > 0)
      await tx.query(`SELECT order_is_seen_by_agents(id) FROM unnest($1::bigint[]) AS id`, [changed]);
  }

  /** Which of the agents have installations of the plans. */
  private async withPoints(
    planIds: readonly string[],
    agents: readonly string[],
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const rows = await this.database.query<{ planId: string; agents: string[] }[]>(
      `SELECT plan_id AS "planId", array_agg(DISTINCT agent_id::text) AS agents FROM installation
       WHERE plan_id = ANY ($1::bigint[]) AND agent_id = ANY ($2::text[]) AND state <> 'released' GROUP BY plan_id`,
      [planIds, agents],
    );
    return new Map(rows.map((row) => [row.planId, new Set(row.agents)]));
  }
}

/** Whether an agent is to be chosen. */
function isOpen(certificateSha256: string, rollout: Rollout | null): boolean {
  if (rollout === null || rollout.certificateSha256 !== certificateSha256) return true;
  return rollout.firstAgent === null && !rollout.isServed && !rollout.isStopped;
}

/** At random among those that suit best, so that not all certificates begin on one host. */
function firstOf(
  { certificate, rollout }: SeenOrder,
  agents: readonly string[],
  points: ReadonlySet<string>,
): string {
  const broken = rollout?.certificateSha256 === certificate?.sha256 ? (rollout?.broken ?? []) : [];
  const sound = agents.filter((id) => !broken.includes(id));
  const suited = [sound.filter((id) => points.has(id)), sound, agents].find((some) => some.length > 0) ?? [];
  return suited[Math.floor(Math.random() * suited.length)] ?? '';
}

/**
 * @param outcome of the agent's report
 * @param othersHavePoints whether other hosts have installed the order
 * @returns null when nothing changes
 */
export function rolloutAfter(
  rollout: Rollout,
  agentId: string,
  outcome: ReturnType<typeof reportedOutcome>,
  othersHavePoints: boolean,
): Rollout | null {
  const { firstAgent, broken, isServed, isStopped: wasStopped } = rollout;
  const isFirst = firstAgent === agentId;
  switch (outcome) {
    case 'underway':
      return null;
    case 'none':
      // Its turn passes on to a host that uses the order; without one there is nothing to wait for.
      if (!isFirst || isServed) return null;
      return othersHavePoints ? { ...rollout, firstAgent: null } : { ...rollout, isServed: true };
    case 'serves': {
      const wasBroken = broken.includes(agentId);
      // After a stop, only one of the broken hosts shows that it can go on: the others report again and again what they serve.
      if ((isServed || wasStopped) && !wasBroken) return null;
      const others = broken.filter((id) => id !== agentId);
      return { ...rollout, broken: others, isServed: true, isStopped: false };
    }
    case 'broken': {
      if (broken.includes(agentId)) return null;
      const all = [...broken, agentId];
      const isStopped = all.length >= maxBroken;
      return {
        ...rollout,
        broken: all,
        isStopped,
        isServed: isServed && !isStopped,
        firstAgent: isFirst || isStopped ? null : firstAgent,
      };
    }
  }
}

/** Two broken hosts stop a roll-out: the certificate is at fault, or what they have in common. */
const maxBroken = 2;
