import { eventually } from '@certwright/testing';
import { AgentsFixture, orderPath } from '../testing/agents-fixture';
import { enrolledAgent } from '../testing/managed-orders';
import type { Tenant } from '../testing/running-api';
import {
  installationOf,
  makeKey,
  type SpecAgent,
  type SpecCluster,
  specCluster,
} from '../testing/spec-agent';
import { AgentTasks, maxAssigned } from './agent-tasks.repository';
import { maxPassed, Rollouts } from './rollouts.repository';

jest.setTimeout(60_000);

let fixture: AgentsFixture;
let tenant: Tenant;
let cluster: SpecCluster;

beforeAll(async () => {
  fixture = await AgentsFixture.start();
});
afterAll(async () => await fixture.stop());
beforeEach(async () => {
  ({ tenant, cluster } = await fixture.begin());
});

describe('a cluster with many orders that wait', () => {
  /** Orders with a CSR, as a plain statement makes them. @returns the id of one of their plans */
  const insertOrders = async (owner: Tenant, name: string, count: number) => {
    const [row] = await fixture.query<{ id: string }>(
      `WITH plans AS (INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token)
         SELECT $1::bigint, 1, true, false, false, 'waiting ' || $1::bigint || ' ' || number
         FROM generate_series(1, $3::int) AS number RETURNING id)
       INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, cluster, product, key_type, csr, spki_sha256)
       SELECT id, $1::bigint, 'waiting ' || id, '{example.com}', '{}', $2::text, 'free_ca', 'rsa', '\\x00',
         sha256(id::text::bytea) FROM plans RETURNING plan_id AS id`,
      ...[owner.accountId, name, count],
    );
    return row?.id ?? '';
  };

  /** This cluster, in which one agent polls, and one of another account. */
  const twoClusters = async () => {
    const other = await fixture.api.tenant();
    await specCluster(fixture.api, other, 'web');
    const [mine, theirs] = [
      await enrolledAgent(fixture.api, tenant, cluster.name),
      await enrolledAgent(fixture.api, other, 'web'),
    ];
    const keys = [
      { accountId: tenant.accountId, name: cluster.name },
      { accountId: other.accountId, name: 'web' },
    ];
    const agentsOf = ({ accountId }: { accountId: string }) => [
      accountId === other.accountId ? theirs : mine,
    ];
    return { other, mine, theirs, keys, agentsOf };
  };

  it('does not keep the agents of another account from getting tasks', async () => {
    const { other, theirs, keys, agentsOf } = await twoClusters();
    await insertOrders(tenant, cluster.name, 530);
    const planId = await insertOrders(other, 'web', 1);
    await fixture.query(
      `INSERT INTO key_request (plan_id, reason, due_at)
       SELECT plan_id, 'first', now() - CASE account_id WHEN $1 THEN interval '1 hour' ELSE interval '1 minute' END
       FROM order_v3 WHERE account_id IN ($1, $2) AND name LIKE 'waiting %'`,
      tenant.accountId,
      other.accountId,
    );
    expect(await fixture.api.app.get(AgentTasks).assignKeys(keys, agentsOf)).toBe(21);
    expect(await fixture.query(`SELECT agent_id FROM key_request WHERE plan_id = $1`, planId)).toEqual([
      { agent_id: theirs },
    ]);
  });

  it.each([
    ['roll-outs', maxPassed + 5],
    ['agents', maxAssigned + 5],
  ] as const)('and many such clusters do not keep the %s of another account waiting', async (what, count) => {
    const { other, theirs, keys } = await twoClusters();
    const names = Array.from({ length: count }, (_, at) => `many ${at + 1}`);
    await fixture.query(
      `INSERT INTO cluster (account_id, name) SELECT $1, name FROM unnest($2::text[]) AS name`,
      ...[tenant.accountId, names],
    );
    await insertOrders(tenant, cluster.name, count);
    await fixture.query(
      `UPDATE order_v3 SET cluster = 'many ' || number FROM (
         SELECT plan_id, row_number() OVER () AS number FROM order_v3 WHERE account_id = $1) AS numbered
       WHERE numbered.plan_id = order_v3.plan_id`,
      tenant.accountId,
    );
    const planId = await insertOrders(other, 'web', 1);
    await fixture.query(
      `WITH waiting AS (
         SELECT plan_id, spki_sha256, CASE account_id WHEN $1 THEN cluster ELSE 'silent' END AS agent,
           now() - CASE account_id WHEN $1 THEN interval '2 hours' ELSE interval '1 hour' END AS since
         FROM order_v3 WHERE account_id IN ($1, $2) AND name LIKE 'waiting %'),
       requested AS (INSERT INTO key_request (plan_id, reason, due_at) SELECT plan_id, 'first', since FROM waiting)
       INSERT INTO rollout (plan_id, certificate_sha256, first_agent, first_since)
       SELECT plan_id, spki_sha256, agent, since FROM waiting`,
      ...[tenant.accountId, other.accountId],
    );
    const clusters = [...names.map((name) => ({ accountId: tenant.accountId, name })), ...keys];
    // In each of the many clusters the only agent that polls is called as it.
    const agentsOf = ({ accountId, name }: { accountId: string; name: string }) =>
      accountId === other.accountId ? [theirs] : [name];
    const { app } = fixture.api;
    if (what === 'roll-outs') await app.get(Rollouts).passOn(clusters, agentsOf);
    else await app.get(AgentTasks).assignKeys(clusters, agentsOf);
    const agent =
      what === 'roll-outs'
        ? await fixture.query(`SELECT first_agent AS id FROM rollout WHERE plan_id = $1`, planId)
        : await fixture.query(`SELECT agent_id AS id FROM key_request WHERE plan_id = $1`, planId);
    expect(agent).toEqual([{ id: theirs }]);
  });

  it('does not keep the roll-outs of another account from being passed on', async () => {
    const { other, mine, theirs, keys, agentsOf } = await twoClusters();
    await insertOrders(tenant, cluster.name, 210);
    const planId = await insertOrders(other, 'web', 1);
    await fixture.query(
      `INSERT INTO rollout (plan_id, certificate_sha256, first_agent, first_since)
       SELECT plan_id, spki_sha256, CASE account_id WHEN $1 THEN $3 ELSE 'silent' END, now() - interval '1 hour'
       FROM order_v3 WHERE account_id IN ($1, $2) AND name LIKE 'waiting %'`,
      ...[tenant.accountId, other.accountId, mine],
    );
    expect(await fixture.api.app.get(Rollouts).passOn(keys, agentsOf)).toBe(1);
    expect(await fixture.query(`SELECT first_agent FROM rollout WHERE plan_id = $1`, planId)).toEqual([
      { first_agent: theirs },
    ]);
  });

  it('gets keys sealed although no polling agent has many others', async () => {
    const holder = await enrolledAgent(fixture.api, tenant, cluster.name);
    await enrolledAgent(fixture.api, tenant, cluster.name);
    await insertOrders(tenant, cluster.name, 210);
    await fixture.query(
      `INSERT INTO managed_key (account_id, cluster, spki_sha256, plan_id, made_by, task_id, csr_sha256, revision)
       SELECT account_id, cluster, spki_sha256, plan_id,
         CASE row_number() OVER (ORDER BY spki_sha256 DESC) WHEN 1 THEN $2 ELSE 'offline' END, 1, spki_sha256, 1
       FROM order_v3 WHERE account_id = $1 AND name LIKE 'waiting %'`,
      tenant.accountId,
      holder,
    );
    const key = { accountId: tenant.accountId, name: cluster.name };
    const tasks = fixture.api.app.get(AgentTasks);
    let given: number | null = 0;
    for (let round = 0; round < 20 && given === 0; round += 1) given = await tasks.assignSeals(key, [holder]);
    expect(given).toBe(1);
  });
});

describe('a key request that changes while tasks are assigned', () => {
  const pausesReads = `
    CREATE FUNCTION pauses_reads() RETURNS boolean LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN true; END $$;
    ALTER TABLE key_request ENABLE ROW LEVEL SECURITY;
    CREATE POLICY pauses_reads ON key_request USING (pauses_reads())`;
  const isPaused = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

  beforeAll(async () => void (await fixture.query(pausesReads)));
  afterAll(async () => {
    await fixture.query(`ALTER TABLE key_request DISABLE ROW LEVEL SECURITY`);
    await fixture.query(`DROP POLICY pauses_reads ON key_request`);
  });

  /** Commits a change after the statement of the sweep has its snapshot, and before it locks any row. */
  const assignDuring = async (polling: string, ...statement: [string, ...string[]]) => {
    const key = { accountId: tenant.accountId, name: cluster.name };
    const assigning = await fixture.api.database.transaction(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock(42)`);
      const assigned = fixture.api.app.get(AgentTasks).assignKeys([key], () => [polling]);
      await eventually(async () => expect(await fixture.query(isPaused)).toHaveLength(1));
      const [text, ...values] = statement;
      await tx.query(text, values);
      return { assigned };
    });
    return await assigning.assigned;
  };

  beforeEach(async () => await fixture.order('shop'));

  it('stays with the agent that another process gave it to', async () => {
    const [one, other] = (await fixture.members(2)) as [SpecAgent, SpecAgent];
    const given = `UPDATE key_request SET agent_id = $1, assigned_until = now() + interval '1 minute'
      WHERE plan_id = (SELECT plan_id FROM order_v3 WHERE account_id = $2 AND name = 'shop')`;
    expect(await assignDuring(one.id, given, other.id, tenant.accountId)).toBe(0);
    expect((await fixture.requestOf('shop'))?.agent_id).toBe(other.id);
  });

  it('is not assigned when it is postponed', async () => {
    const [one] = (await fixture.members(1)) as [SpecAgent];
    const postponed = `UPDATE key_request SET due_at = now() + interval '1 hour', unpaid_at = now()
      WHERE plan_id = (SELECT plan_id FROM order_v3 WHERE account_id = $1 AND name = 'shop')`;
    expect(await assignDuring(one.id, postponed, tenant.accountId)).toBe(0);
    expect((await fixture.requestOf('shop'))?.agent_id).toBeNull();
  });

  it('is not assigned when another one has replaced it', async () => {
    const [one] = (await fixture.members(1)) as [SpecAgent];
    const replaced = `WITH ended AS (
        DELETE FROM key_request USING order_v3 WHERE order_v3.plan_id = key_request.plan_id
          AND account_id = $1 AND name = 'shop' RETURNING key_request.plan_id)
      INSERT INTO key_request (plan_id, reason, due_at) SELECT plan_id, 'rekey', now() FROM order_v3
      WHERE plan_id + 0 IN (SELECT plan_id FROM ended)`;
    expect(await assignDuring(one.id, replaced, tenant.accountId)).toBe(0);
    expect(await fixture.requestOf('shop')).toMatchObject({ agent_id: null });
  });
});

describe('many changes at the same time', () => {
  it('lead to no deadlock and no lost version', async () => {
    const agents = await fixture.members(3);
    const names = Array.from({ length: 6 }, (_, index) => `race-${index}`);
    for (const name of names) await fixture.order(name);
    const known = new Map<string, number>();
    const isOver = { value: false };
    const follow = async (agent: SpecAgent) => {
      while (!isOver.value) {
        const state = await agent.state(1);
        for (const each of state?.orders ?? []) {
          known.set(each.name, Math.max(known.get(each.name) ?? 0, each.revision));
          for (const task of each.tasks)
            if (task.type === 'make_key')
              await agent.submit(
                each.name,
                task.id,
                makeKey(each),
                agents.filter((other) => other !== agent),
              );
        }
        const points = names.map((name) => installationOf(name, 'waiting', null));
        const { status } = await agent.report(points);
        expect(status).toBe(204);
      }
    };
    const following = agents.map(follow);
    for (let round = 0; round < 5; round += 1)
      await Promise.all(
        names.map(async (name, index) => {
          const key_type = (round + index) % 2 === 0 ? 'ecdsa' : 'rsa';
          const { status } = await tenant.post(orderPath(name), { muted: round % 2 === 0, key_type });
          expect(status).toBe(200);
        }),
      );
    await eventually(
      async () => {
        for (const name of names) expect(await fixture.requestOf(name)).toBeUndefined();
        for (const name of names) {
          const { revision } = (await tenant.get(orderPath(name))).json;
          expect([name, known.get(name)]).toEqual([name, revision]);
        }
      },
      { withinMs: 40_000 },
    );
    isOver.value = true;
    await Promise.all(following);
  });
});
