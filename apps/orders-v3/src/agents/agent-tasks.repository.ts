import { Transactions, type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import type { ClusterKey } from './cluster-changes.repository';

/** How long one agent has for a task, s; then another one gets it. */
const taskSeconds = 60;

/** Keys that one agent makes at the same time: RSA takes it up to a second each. */
const maxTasksPerAgent = 20;

/** Key requests that are assigned in one statement. */
export const maxAssigned = 500;

/** Keys of a cluster that are given to sealers in one statement. */
const maxSeals = 200;

/** An order that left its cluster so long ago is forgotten: agents that know only older versions begin again. */
const releaseDays = 30;

interface DueRequest {
  readonly id: string;
  readonly planId: string;
  readonly accountId: string;
  readonly name: string;
  /** Had it last. */
  readonly agentId: string | null;
}

/** Gives tasks to agents that poll now. Any number of processes may do so at the same time. */
@Injectable()
export class AgentTasks {
  constructor(private readonly transactions: Transactions) {}

  /**
   * Key requests whose time has come, also those that an agent did not respond to in time.
   *
   * @param clusters in which agents poll now
   * @returns how many were assigned
   */
  async assignKeys(
    clusters: readonly ClusterKey[],
    agentsOf: (cluster: ClusterKey) => readonly string[],
  ): Promise<number> {
    return await this.transactions.run(async (tx) => {
      const due = await tx.query<DueRequest[]>(dueRequests, [
        clusters.map(({ accountId }) => accountId),
        clusters.map(({ name }) => name),
      ]);
      if (due.length === 0) return 0;
      const load = await loadOf(tx, [...new Set(due.flatMap((each) => agentsOf(each)))]);
      const assigned = due.flatMap((request) => {
        const agent = leastLoaded(agentsOf(request), load, request.agentId);
        if (agent === null) return [];
        load.set(agent, (load.get(agent) ?? 0) + 1);
        return [{ ...request, agent }];
      });
      if (assigned.length === 0) return 0;
      // Only the row of the plan was locked: the request may have changed since the statement that found it began.
      const [given] = await tx.query<[{ planId: string }[], number]>(
        `UPDATE key_request AS request SET agent_id = assigned.agent,
           assigned_until = date_trunc('second', clock_timestamp()) + interval '${taskSeconds} seconds'
         FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS assigned (plan_id, id, agent)
         WHERE request.plan_id = assigned.plan_id AND request.id = assigned.id AND ${isRequestDue}
           AND EXISTS (SELECT 1 FROM agent WHERE agent.id = assigned.agent AND removed_at IS NULL)
         RETURNING request.plan_id AS "planId"`,
        [
          assigned.map(({ planId }) => planId),
          assigned.map(({ id }) => id),
          assigned.map(({ agent }) => agent),
        ],
      );
      const planIds = given.map(({ planId }) => planId);
      await tx.query(`SELECT order_is_seen_by_agents(id) FROM unnest($1::bigint[]) AS id`, [planIds]);
      return given.length;
    });
  }

  /**
   * Keys that members of the cluster lack, which joined after the keys were made: agents that hold them and poll now are
   * to seal them.
   *
   * @returns how many were given to a sealer; null: no member lacks a key
   */
  async assignSeals(cluster: ClusterKey, agents: readonly string[]): Promise<number | null> {
    const { accountId, name } = cluster;
    return await this.transactions.run(async (tx) => {
      const [row] = await tx.query<[{ members: string }?]>(
        `SELECT members_version AS members FROM cluster WHERE account_id = $1 AND name = $2 AND seals_missing`,
        [accountId, name],
      );
      if (row === undefined) return null;
      const lacking = await tx.query<LackingKey[]>(lackingKeys, [accountId, name, agents]);
      if (lacking.length === 0) {
        await tx.query(
          `UPDATE cluster SET seals_missing = false WHERE account_id = $1 AND name = $2 AND members_version = $3`,
          [accountId, name, row.members],
        );
        return null;
      }
      return await giveSeals(tx, cluster, lacking);
    });
  }

  /** Keys of certificates that have expired, and orders that left long ago. */
  async forget(): Promise<void> {
    await this.transactions.run(async (tx) => {
      await tx.query(
        `WITH old AS (
           DELETE FROM cluster_release WHERE (account_id, cluster, order_name) IN (
             SELECT account_id, cluster, order_name FROM cluster_release
             WHERE released_at < now() - interval '${releaseDays} days' ORDER BY released_at LIMIT 1000)
           RETURNING account_id, cluster, version),
         newest AS (SELECT account_id, cluster, max(version) AS version FROM old GROUP BY account_id, cluster)
         UPDATE cluster SET reset_before = greatest(reset_before, newest.version) FROM newest
         WHERE cluster.account_id = newest.account_id AND cluster.name = newest.cluster`,
      );
    });
    await this.transactions.run(async (tx) => {
      await tx.query(
        `DELETE FROM managed_key AS key WHERE created_at < now() - interval '1 day'
           AND NOT EXISTS (SELECT 1 FROM order_v3 WHERE order_v3.plan_id = key.plan_id AND order_v3.spki_sha256 = key.spki_sha256)
           AND NOT EXISTS (SELECT 1 FROM certificate WHERE certificate.plan_id = key.plan_id
             AND certificate.spki_sha256 = key.spki_sha256 AND not_after >= now())
           AND NOT EXISTS (SELECT 1 FROM issuance JOIN terms ON terms.id = issuance.terms_id
             WHERE issuance.plan_id = key.plan_id AND issuance.state = 'open' AND terms.spki_sha256 = key.spki_sha256)`,
      );
    });
  }
}

interface LackingKey {
  readonly planId: string;
  readonly spki: Buffer;
  /** A sealer still has time. */
  readonly isGiven: boolean;
  /** Those of the agents that hold it. */
  readonly holders: readonly string[] | null;
}

/** Plans are locked before their cluster; what another transaction changes now is left to the next round. */
async function giveSeals(
  tx: Tx,
  { accountId, name }: ClusterKey,
  lacking: readonly LackingKey[],
): Promise<number> {
  const open = lacking.filter(({ isGiven, holders }) => !isGiven && holders !== null && holders.length > 0);
  if (open.length === 0) return 0;
  const locked = await tx.query<{ id: string }[]>(
    `SELECT id FROM plan WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED`,
    [open.map(({ planId }) => planId)],
  );
  const plans = new Set(locked.map(({ id }) => id));
  const given = open.filter(({ planId }) => plans.has(planId));
  if (given.length === 0) return 0;
  const [[row]] = await tx.query<[[{ version: string }?], number]>(
    `UPDATE cluster SET version = version + $3 WHERE account_id = $1 AND name = $2 RETURNING version`,
    [accountId, name, given.length],
  );
  if (row === undefined) return 0;
  const sealers = given.map(({ holders }) => holders?.[Math.floor(Math.random() * holders.length)]);
  await tx.query(
    `UPDATE managed_key AS key SET sealer = given.sealer, seal_version = $5::bigint - $6 + given.number,
       seal_until = clock_timestamp() + interval '${taskSeconds} seconds'
     FROM unnest($3::bytea[], $4::text[]) WITH ORDINALITY AS given (spki, sealer, number)
     WHERE key.account_id = $1 AND key.cluster = $2 AND key.spki_sha256 = given.spki
       AND (key.seal_until IS NULL OR key.seal_until < clock_timestamp())`,
    [accountId, name, given.map(({ spki }) => spki), sealers, row.version, given.length],
  );
  return given.length;
}

const isRequestDue = `request.due_at <= clock_timestamp()
    AND (request.assigned_until IS NULL OR request.assigned_until < clock_timestamp())`;

const isDue = `${isRequestDue}
    AND NOT plan.paused AND plan.closed_at IS NULL`;

/**
 * The accounts take turns, and their clusters: requests of one whose agents have enough tasks, or do none, stay due, and
 * must not keep others from being found.
 */
const dueRequests = `
  SELECT request.id, plan.id AS "planId", order_v3.account_id AS "accountId", order_v3.cluster AS name,
    request.agent_id AS "agentId"
  FROM (
    SELECT plan_id, due_at, row_number() OVER (PARTITION BY account_id ORDER BY nth, due_at, plan_id) AS turn
    FROM (
      SELECT request.plan_id, order_v3.account_id, request.due_at,
        row_number() OVER (PARTITION BY order_v3.account_id, order_v3.cluster ORDER BY request.due_at, plan.id) AS nth
      FROM key_request AS request
      JOIN order_v3 ON order_v3.plan_id = request.plan_id
      JOIN unnest($1::bigint[], $2::text[]) AS waiting (account_id, name)
        ON waiting.account_id = order_v3.account_id AND waiting.name = order_v3.cluster
      JOIN plan ON plan.id = request.plan_id
      WHERE ${isDue}) AS of_cluster
    ORDER BY turn, due_at LIMIT ${maxAssigned}) AS found
  JOIN key_request AS request ON request.plan_id = found.plan_id
  JOIN order_v3 ON order_v3.plan_id = found.plan_id
  JOIN plan ON plan.id = found.plan_id
  WHERE ${isDue}
  ORDER BY found.turn, found.due_at, plan.id
  FOR UPDATE OF plan SKIP LOCKED`;

/**
 * The keys that are needed: that of the present CSR, and that of the current certificate. In random order: keys that no
 * polling agent holds are found in every round, and must not keep others from being found.
 */
const lackingKeys = `
  SELECT key.plan_id AS "planId", key.spki_sha256 AS spki, coalesce(key.seal_until > clock_timestamp(), false) AS "isGiven", (
    SELECT array_agg(holder) FROM unnest($3::text[]) AS holder
    WHERE holder = key.made_by OR EXISTS (
      SELECT 1 FROM sealed_key AS sealed WHERE sealed.account_id = $1 AND sealed.cluster = $2
        AND sealed.spki_sha256 = key.spki_sha256 AND sealed.receiver = holder)) AS holders
  FROM managed_key AS key JOIN order_v3 ON order_v3.plan_id = key.plan_id
  WHERE key.account_id = $1 AND key.cluster = $2
    AND (key.spki_sha256 = order_v3.spki_sha256 OR EXISTS (
      SELECT 1 FROM certificate WHERE certificate.plan_id = key.plan_id AND is_current
        AND certificate.spki_sha256 = key.spki_sha256))
    AND EXISTS (
      SELECT 1 FROM agent WHERE agent.account_id = $1 AND agent.cluster = $2 AND removed_at IS NULL
        AND agent.id <> key.made_by AND NOT EXISTS (
          SELECT 1 FROM sealed_key AS sealed WHERE sealed.account_id = $1 AND sealed.cluster = $2
            AND sealed.spki_sha256 = key.spki_sha256 AND sealed.receiver = agent.id))
  ORDER BY "isGiven", random() LIMIT ${maxSeals}`;

async function loadOf(tx: Tx, agents: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.query<{ id: string; count: number }[]>(
    `SELECT agent_id AS id, count(*)::int AS count FROM key_request
     WHERE agent_id = ANY ($1::text[]) AND assigned_until >= clock_timestamp() GROUP BY agent_id`,
    [agents],
  );
  return new Map(rows.map(({ id, count }) => [id, count]));
}

/** @param last had the task and did not respond: it gets it again only when there is no other one */
export function leastLoaded(
  agents: readonly string[],
  load: ReadonlyMap<string, number>,
  last: string | null,
): string | null {
  const free = agents.filter((id) => (load.get(id) ?? 0) < maxTasksPerAgent);
  const others = free.filter((id) => id !== last);
  const candidates = others.length > 0 ? others : free;
  const least = Math.min(...candidates.map((id) => load.get(id) ?? 0));
  const equals = candidates.filter((id) => (load.get(id) ?? 0) === least);
  return equals[Math.floor(Math.random() * equals.length)] ?? null;
}
