import { createHash, randomBytes } from 'node:crypto';
import { agentPaths, openKey, readMembers, readSealedKeys, stateQuery } from '@certwright/agent-contract';
import { eventually } from '@certwright/testing';
import { changeCurrent } from '../testing/current-certificate';
import { enrolledAgent } from '../testing/managed-orders';
import { RunningApi, type Tenant } from '../testing/running-api';
import {
  enrolmentToken,
  installationOf,
  makeKey,
  randomHash,
  SpecAgent,
  type SpecCluster,
  specCluster,
} from '../testing/spec-agent';
import { AgentTasks } from './agent-tasks.repository';
import { ClusterChangesRepository } from './cluster-changes.repository';
import { Rollouts } from './rollouts.repository';

jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;
let cluster: SpecCluster;
let clusters = 0;

beforeAll(async () => {
  api = await RunningApi.start({ FAILED_AUTHENTICATION_PER_MIN: '100000' });
  await query(`UPDATE product SET price_cents = 1000 WHERE name = 'paid_ca'`);
});
afterAll(async () => await api.stop());
beforeEach(async () => {
  tenant = await api.tenant();
  clusters += 1;
  cluster = await specCluster(api, tenant, `web ${clusters}`);
});

const order = async (name: string, more: object = {}) => {
  const dns_names = [`${name}.example.com`];
  const response = await tenant.post('/api/v3/orders', { name, dns_names, cluster: cluster.name, ...more });
  if (response.status !== 201) throw new Error(response.text);
};
const path = (name: string) => `/api/v3/orders/${name}`;
const query = async <T extends object>(statement: string, ...values: unknown[]) =>
  await api.database.query<T>(statement, values);
const members = async (count: number) => {
  const agents: SpecAgent[] = [];
  for (let each = 0; each < count; each += 1) agents.push(await SpecAgent.enrolled(api, cluster));
  return agents;
};
const issuancesOf = async (name: string) =>
  await query<{ state: string; revision: number; due: boolean }>(
    `SELECT issuance.state, issuance.revision, due_at <= now() AS due FROM issuance JOIN order_v3 USING (plan_id)
     WHERE order_v3.account_id = $1 AND name = $2 ORDER BY issuance.id`,
    tenant.accountId,
    name,
  );
const requestOf = async (name: string) =>
  (
    await query<{ id: string; reason: string; agent_id: string | null }>(
      `SELECT id, reason, agent_id FROM key_request JOIN order_v3 USING (plan_id) WHERE account_id = $1 AND name = $2`,
      tenant.accountId,
      name,
    )
  )[0];

/** One agent with an order that has its key. */
async function keyed(name: string, more: object = {}) {
  const [agent] = (await members(1)) as [SpecAgent];
  await order(name, more);
  const { id, order: seen } = await agent.task(name);
  const key = makeKey(seen);
  const response = await agent.submit(name, id, key);
  return { agent, id, key, response };
}

describe('enrolment', () => {
  it('makes a host a member, and the same request again gets the same response without a further use', async () => {
    const token = await enrolmentToken(api, cluster);
    const agent = new SpecAgent(api, cluster);
    const first = await agent.enrol(token);
    expect(first).toMatchObject({ status: 200 });
    expect(first.json).toEqual({
      agent_id: agent.id,
      cluster: {
        name: cluster.name,
        cluster_key: Buffer.from(cluster.key?.publicKey ?? []).toString('base64url'),
      },
    });
    await query(`UPDATE cluster_enrolment SET expires_at = now() WHERE account_id = $1`, tenant.accountId);
    expect((await agent.enrol(token)).json).toEqual(first.json);
    expect(await query(`SELECT used FROM cluster_enrolment WHERE account_id = $1`, tenant.accountId)).toEqual(
      [{ used: 1 }],
    );
  });

  it('counts a token that several hosts use at the same time', async () => {
    const token = await enrolmentToken(api, cluster, { uses: 2 });
    const agents = Array.from({ length: 6 }, () => new SpecAgent(api, cluster));
    const statuses = await Promise.all(agents.map(async (agent) => (await agent.enrol(token)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect(statuses.filter((status) => status === 401)).toHaveLength(4);
  });

  it('responds the same to unknown, used up, expired and revoked tokens, and to another key of a used one', async () => {
    const tokens = {
      unknown: 'x'.repeat(43),
      used: await enrolmentToken(api, cluster),
      expired: await enrolmentToken(api, cluster, { expiresIn: '-1 second' }),
      revoked: await enrolmentToken(api, cluster),
    };
    await SpecAgent.enrolled(api, cluster, tokens.used);
    await query(`UPDATE cluster_enrolment SET revoked_at = now() WHERE used = 0 AND expires_at > now()`);
    const responses = await Promise.all(
      Object.values(tokens).map(async (token) => await new SpecAgent(api, cluster).enrol(token)),
    );
    for (const { status, json } of responses) {
      expect(status).toBe(401);
      expect(json).toEqual(responses[0]?.json);
    }
  });

  it('refuses a statement that is missing, by another key, or about other keys', async () => {
    const token = await enrolmentToken(api, cluster);
    const agent = new SpecAgent(api, cluster);
    const other = new SpecAgent(api, cluster);
    const body = agent.enrolBody(token);
    const foreign = new SpecAgent(api, await specCluster(api, tenant, `foreign ${clusters}`));
    for (const statement of [
      null,
      other.enrolBody(token).statement,
      foreign.enrolBody(token).statement,
      'x.y.z',
    ]) {
      const { status, json } = await agent.post(agentPaths.enrol, { ...body, statement });
      expect([status, json.sub_errors]).toMatchObject([400, [{ field: 'statement', code: 'invalid_value' }]]);
    }
    expect((await agent.enrol(token)).status).toBe(200);
  });

  it('refuses a request that another key than that of its body signed', async () => {
    const agent = new SpecAgent(api, cluster);
    const body = agent.enrolBody(await enrolmentToken(api, cluster));
    const other = new SpecAgent(api, cluster);
    expect((await agent.call('POST', agentPaths.enrol, body, { key: other.identity })).status).toBe(401);
  });

  it('admits one agent to a cluster without a cluster key, also of two at the same time', async () => {
    const single = await specCluster(api, tenant, `single ${clusters}`, null);
    const agents = [new SpecAgent(api, single), new SpecAgent(api, single)];
    const tokens = [await enrolmentToken(api, single), await enrolmentToken(api, single)];
    const responses = await Promise.all(
      agents.map(async (agent, index) => await agent.enrol(tokens[index] ?? '')),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(responses.find(({ status }) => status === 409)?.json.code).toBe('cluster_key_required');
  });

  it.each([
    ['a name with a line feed', { name: 'a\nb' }],
    ['a name that is too long', { name: 'n'.repeat(256) }],
    ['a key that is not canonical', { sealing_key: `${'A'.repeat(42)}B` }],
    ['no platform', { platform: undefined }],
  ])('refuses %s', async (_, change) => {
    const agent = new SpecAgent(api, cluster);
    const body = { ...agent.enrolBody(await enrolmentToken(api, cluster)), ...change };
    expect((await agent.post(agentPaths.enrol, body)).status).toBe(400);
  });

  it('ignores members that a newer agent sends', async () => {
    const agent = new SpecAgent(api, cluster);
    const body = { ...agent.enrolBody(await enrolmentToken(api, cluster)), colour: 'blue' };
    expect((await agent.post(agentPaths.enrol, body)).status).toBe(200);
  });
});

describe('a signature', () => {
  it('is needed: API keys are refused, alone and with a signature', async () => {
    const [agent] = (await members(1)) as [SpecAgent];
    expect((await tenant.get(agentPaths.members)).status).toBe(401);
    const authorization = `Bearer ${tenant.apiKey}`;
    expect((await agent.call('GET', agentPaths.members, null, { headers: { authorization } })).status).toBe(
      401,
    );
    expect((await agent.get(agentPaths.members)).status).toBe(200);
  });

  it('admits to no other route', async () => {
    const [agent] = (await members(1)) as [SpecAgent];
    for (const target of ['/api/v3/orders', '/api/v3/clusters'])
      expect((await agent.get(target)).status).toBe(401);
  });

  it('is refused with one response when it is by another key, about another request, or of an unknown agent', async () => {
    const [agent] = (await members(1)) as [SpecAgent];
    const unknown = new SpecAgent(api, cluster);
    const digest = { 'content-digest': 'sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:' };
    const responses = [
      await unknown.get(agentPaths.members),
      await agent.call('GET', agentPaths.members, null, { key: unknown.identity }),
      await agent.call('GET', agentPaths.members, null, { headers: { signature: 'sig1=:AAAA:' } }),
      await agent.call('POST', agentPaths.reports, {}, { headers: digest }),
    ];
    for (const { status, json } of responses) expect([status, json]).toEqual([401, responses[0]?.json]);
  });

  it('by another key does not use up the rate of the agent', async () => {
    const limited = await RunningApi.start({ READS_PER_S: '1', FAILED_AUTHENTICATION_PER_MIN: '100000' });
    const own = await specCluster(limited, await limited.tenant(), 'web');
    const agent = await SpecAgent.enrolled(limited, own);
    const { identity: key } = new SpecAgent(limited, own);
    const statuses = new Set<number>();
    for (let attempt = 0; attempt < 30; attempt += 1)
      statuses.add((await agent.call('GET', agentPaths.members, null, { key })).status);
    expect([...statuses]).toEqual([401]);
    expect((await agent.get(agentPaths.members)).status).toBe(200);
    await limited.stop();
  });

  it('by a wrong clock is reported as that, and only when everything else is right', async () => {
    const [agent] = (await members(1)) as [SpecAgent];
    agent.clockOffsetS = -3_600;
    const { status, json } = await agent.get(agentPaths.members);
    expect([status, json.code]).toEqual([401, 'clock_skew']);
    expect(json.message).toContain('s behind');
    const unknown = new SpecAgent(api, cluster);
    unknown.clockOffsetS = -3_600;
    expect((await unknown.get(agentPaths.members)).json.code).toBe('bad_credentials');
  });

  it('is refused within ten seconds once the agent was removed, also while it waits', async () => {
    const [agent] = (await members(1)) as [SpecAgent];
    await agent.state(0);
    const waiting = agent.get(`${agentPaths.state}${stateQuery(agent.version, 60)}`);
    const begun = Date.now();
    await eventually(async () => expect((await agent.get(agentPaths.members)).status).toBe(200));
    await tenant.delete(`/api/v3/clusters/${encodeURIComponent(cluster.name)}/agents/${agent.id}`);
    expect((await waiting).status).toBe(401);
    await eventually(async () => expect((await agent.get(agentPaths.members)).status).toBe(401));
    expect(Date.now() - begun).toBeLessThan(10_000);
  });

  it('of a disabled account is refused', async () => {
    const [agent] = (await members(1)) as [SpecAgent];
    await query(`UPDATE account SET disabled_at = now() WHERE id = $1`, tenant.accountId);
    await eventually(async () => expect((await agent.get(agentPaths.members)).status).toBe(401), {
      withinMs: 10_000,
    });
  });
});

describe('the state', () => {
  it('has all orders at first, then only what changed, and 204 when nothing does', async () => {
    await order('one');
    await order('two');
    const [agent] = (await members(1)) as [SpecAgent];
    const first = await agent.state(0);
    expect(first?.orders.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(first).toMatchObject({ more: false, reset: false, released: [], cluster: { name: cluster.name } });
    await agent.task('two');
    while ((await agent.state(0)) !== null);
    expect(await agent.state(1)).toBeNull();
    await tenant.post(path('one'), { muted: true });
    expect((await agent.state(10))?.orders).toMatchObject([{ name: 'one', revision: 2 }]);
  });

  it('wakes a waiting agent within two seconds of a change, without a statement while it waits', async () => {
    const [agent] = (await members(1)) as [SpecAgent];
    await agent.state(0);
    const waiting = agent.state(30);
    await eventually(async () => {
      const statements = await api.statementsOf(
        async () => await new Promise((resolve) => setImmediate(resolve)),
      );
      expect(statements).toEqual([]);
    });
    await order('late');
    const begun = Date.now();
    expect((await waiting)?.orders).toMatchObject([{ name: 'late' }]);
    expect(Date.now() - begun).toBeLessThan(2_000);
  });

  it('lists what left the cluster, and forgets it when the name comes back', async () => {
    await order('gone');
    await order('back');
    const [agent] = (await members(1)) as [SpecAgent];
    await agent.state(0);
    await tenant.delete(path('gone'));
    await tenant.delete(path('back'));
    await order('back');
    const state = await agent.state(0);
    expect(state?.released).toEqual(['gone']);
    expect(state?.orders.map(({ name }) => name)).toEqual(['back']);
  });

  it('forgets orders that left long ago, and old keys that neither an order nor a certificate has', async () => {
    for (const name of ['gone', 'kept']) await order(name);
    await tenant.delete(path('gone'));
    await query(
      `UPDATE cluster_release SET released_at = now() - interval '1 year' WHERE account_id = $1`,
      tenant.accountId,
    );
    await query(
      `INSERT INTO managed_key (account_id, cluster, spki_sha256, plan_id, made_by, task_id, csr_sha256, revision, created_at)
       SELECT account_id, cluster, $2, plan_id, 'x', 1, $2, 1, now() - interval '2 days' FROM order_v3 WHERE account_id = $1`,
      tenant.accountId,
      randomBytes(32),
    );
    const [before] = await query<{ version: string }>(
      `SELECT version FROM cluster_release WHERE account_id = $1`,
      tenant.accountId,
    );
    await api.app.get(AgentTasks).forget();
    for (const table of ['cluster_release', 'managed_key'])
      expect(await query(`SELECT FROM ${table} WHERE account_id = $1`, tenant.accountId)).toEqual([]);
    expect(
      await query(`SELECT reset_before AS version FROM cluster WHERE account_id = $1`, tenant.accountId),
    ).toEqual([before]);
  });

  it.each([0, 500])(
    'has pages of 200 orders, without gaps, when %i versions are forgotten',
    async (forgotten) => {
      const [agent] = (await members(1)) as [SpecAgent];
      await query(
        `WITH plans AS (INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token)
         SELECT $1::bigint, 1, true, false, true, 'pages ' || $1::bigint || ' ' || number FROM generate_series(1, 450) AS number
         RETURNING id)
       INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, cluster, product, key_type)
       SELECT id, $1::bigint, 'order ' || id, '{example.com}', '{}', $2::text, 'free_ca', 'rsa' FROM plans`,
        tenant.accountId,
        cluster.name,
      );
      await query(
        `UPDATE cluster SET reset_before = $2::bigint, version = version + $2 WHERE account_id = $1`,
        tenant.accountId,
        forgotten,
      );
      const names = new Set<string>();
      const sizes: number[] = [];
      for (;;) {
        const state = await agent.state(0);
        expect(state?.reset).toBe(false);
        sizes.push(state?.orders.length ?? 0);
        for (const { name } of state?.orders ?? []) names.add(name);
        if (state?.more !== true) break;
      }
      expect(sizes).toEqual([200, 200, 50]);
      expect(names.size).toBe(450);
    },
  );

  it('begins again for a version that is unknown: of the future, or from before what is forgotten', async () => {
    const [agent] = (await members(1)) as [SpecAgent];
    await agent.state(0);
    agent.version = 1_000_000;
    expect(await agent.state(10)).toMatchObject({ reset: true, orders: [] });
    await query(`UPDATE cluster SET reset_before = 5, version = 10 WHERE account_id = $1`, tenant.accountId);
    agent.version = 3;
    expect(await agent.state(0)).toMatchObject({ reset: true, orders: [] });
  });

  it('shows the orders of its cluster alone', async () => {
    const other = await specCluster(api, tenant, `other ${clusters}`);
    const stranger = await SpecAgent.enrolled(api, other);
    const foreign = await api.tenant();
    const foreigner = await SpecAgent.enrolled(api, await specCluster(api, foreign, cluster.name));
    const { key } = await keyed('shop');
    const id = await changeCurrent(api, tenant, 'shop');
    const [row] = await query<{ sha256: Buffer }>(`SELECT sha256 FROM certificate WHERE id = $1`, id);
    const hash = row?.sha256.toString('hex') ?? '';
    for (const agent of [stranger, foreigner]) {
      expect((await agent.state(0))?.orders).toEqual([]);
      expect((await agent.get(agentPaths.certificate(hash))).status).toBe(404);
      expect((await agent.get(agentPaths.keys('shop', key.spkiSha256))).status).toBe(404);
      expect(
        (await agent.submit('shop', '1', makeKey({ dns_names: ['shop.example.com'], key_type: 'rsa' })))
          .status,
      ).toBe(404);
      expect((await agent.post(agentPaths.keys('shop', key.spkiSha256), { keys: [] })).status).toBe(404);
      expect((await agent.report([installationOf('shop', 'serving', hash)])).status).toBe(400);
      expect(readMembers(Buffer.from((await agent.get(agentPaths.members)).text)).members).toHaveLength(1);
    }
  });
});

describe('a process with too many waiting agents', () => {
  it('refuses further ones with 503 and Retry-After, and ends the waits of the others when it stops', async () => {
    const small = await RunningApi.start({ MAX_WAITING_AGENTS: '1', DRAIN_TIME: '5000' });
    const own = await specCluster(small, await small.tenant(), 'web');
    const [one, other] = [await SpecAgent.enrolled(small, own), await SpecAgent.enrolled(small, own)];
    await one.state(0);
    await other.state(0);
    const waiting = one.get(`${agentPaths.state}${stateQuery(one.version, 60)}`);
    await eventually(async () => {
      const { status, headers, json } = await other.get(`${agentPaths.state}${stateQuery(other.version, 1)}`);
      expect([status, json?.code]).toEqual([503, 'service_outage']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    });
    expect((await other.get(agentPaths.members)).status).toBe(200);
    const begun = Date.now();
    await small.stop();
    expect((await waiting).status).toBe(204);
    expect(Date.now() - begun).toBeLessThan(30_000);
  });
});

it('a roll-out of the current certificate is not replaced by one of a certificate that was read earlier', async () => {
  const { agent } = await keyed('shop');
  await members(1);
  const key = { accountId: tenant.accountId, name: cluster.name };
  const read = async () => (await api.app.get(ClusterChangesRepository).after(key, 0))?.orders ?? [];
  await changeCurrent(api, tenant, 'shop');
  const earlier = await read();
  await changeCurrent(api, tenant, 'shop');
  const current = await read();
  for (const orders of [current, earlier]) await api.app.get(Rollouts).begin(orders, [agent.id]);
  expect(
    await query(
      `SELECT encode(rollout.certificate_sha256, 'hex') AS sha256 FROM rollout JOIN order_v3 USING (plan_id) WHERE account_id = $1`,
      tenant.accountId,
    ),
  ).toEqual([{ sha256: current[0]?.certificate?.sha256 }]);
});

describe('a cluster with many orders that wait', () => {
  /** Orders with a CSR, as a plain statement makes them. @returns the id of one of their plans */
  const insertOrders = async (owner: Tenant, name: string, count: number) => {
    const [row] = await query<{ id: string }>(
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
    const other = await api.tenant();
    await specCluster(api, other, 'web');
    const [mine, theirs] = [
      await enrolledAgent(api, tenant, cluster.name),
      await enrolledAgent(api, other, 'web'),
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
    await query(
      `INSERT INTO key_request (plan_id, reason, due_at)
       SELECT plan_id, 'first', now() - CASE account_id WHEN $1 THEN interval '1 hour' ELSE interval '1 minute' END
       FROM order_v3 WHERE account_id IN ($1, $2) AND name LIKE 'waiting %'`,
      tenant.accountId,
      other.accountId,
    );
    expect(await api.app.get(AgentTasks).assignKeys(keys, agentsOf)).toBe(21);
    expect(await query(`SELECT agent_id FROM key_request WHERE plan_id = $1`, planId)).toEqual([
      { agent_id: theirs },
    ]);
  });

  it('does not keep the roll-outs of another account from being passed on', async () => {
    const { other, mine, theirs, keys, agentsOf } = await twoClusters();
    await insertOrders(tenant, cluster.name, 210);
    const planId = await insertOrders(other, 'web', 1);
    await query(
      `INSERT INTO rollout (plan_id, certificate_sha256, first_agent, first_since)
       SELECT plan_id, spki_sha256, CASE account_id WHEN $1 THEN $3 ELSE 'silent' END, now() - interval '1 hour'
       FROM order_v3 WHERE account_id IN ($1, $2) AND name LIKE 'waiting %'`,
      ...[tenant.accountId, other.accountId, mine],
    );
    expect(await api.app.get(Rollouts).passOn(keys, agentsOf)).toBe(1);
    expect(await query(`SELECT first_agent FROM rollout WHERE plan_id = $1`, planId)).toEqual([
      { first_agent: theirs },
    ]);
  });

  it('gets keys sealed although no polling agent has many others', async () => {
    const holder = await enrolledAgent(api, tenant, cluster.name);
    await enrolledAgent(api, tenant, cluster.name);
    await insertOrders(tenant, cluster.name, 210);
    await query(
      `INSERT INTO managed_key (account_id, cluster, spki_sha256, plan_id, made_by, task_id, csr_sha256, revision)
       SELECT account_id, cluster, spki_sha256, plan_id,
         CASE row_number() OVER (ORDER BY spki_sha256 DESC) WHEN 1 THEN $2 ELSE 'offline' END, 1, spki_sha256, 1
       FROM order_v3 WHERE account_id = $1 AND name LIKE 'waiting %'`,
      tenant.accountId,
      holder,
    );
    const key = { accountId: tenant.accountId, name: cluster.name };
    const tasks = api.app.get(AgentTasks);
    let given: number | null = 0;
    for (let round = 0; round < 20 && given === 0; round += 1) given = await tasks.assignSeals(key, [holder]);
    expect(given).toBe(1);
  });
});

describe('many changes at the same time', () => {
  it('lead to no deadlock and no lost version', async () => {
    const agents = await members(3);
    const names = Array.from({ length: 6 }, (_, index) => `race-${index}`);
    for (const name of names) await order(name);
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
          const { status } = await tenant.post(path(name), { muted: round % 2 === 0, key_type });
          expect(status).toBe(200);
        }),
      );
    await eventually(
      async () => {
        for (const name of names) expect(await requestOf(name)).toBeUndefined();
        for (const name of names) {
          const { revision } = (await tenant.get(path(name))).json;
          expect([name, known.get(name)]).toEqual([name, revision]);
        }
      },
      { withinMs: 40_000 },
    );
    isOver.value = true;
    await Promise.all(following);
  });
});

describe('a key', () => {
  it('is requested from one agent, and its CSR issues a certificate at once, as a modification', async () => {
    const { response, key } = await keyed('shop');
    expect(response).toMatchObject({ status: 200, json: { revision: 2 } });
    expect(await issuancesOf('shop')).toEqual([{ state: 'open', revision: 2, due: true }]);
    const shown = await tenant.get(`${path('shop')}?expand=csr&expand=issuance`);
    expect(shown.json).toMatchObject({ csr: key.csr, pubkey_sha256: key.spkiSha256, revision: 2 });
    expect(await requestOf('shop')).toBeUndefined();
  });

  it('gets the same response for the same CSR again, also at the same time, and issues once', async () => {
    const [agent] = (await members(1)) as [SpecAgent];
    await order('shop');
    const { id, order: seen } = await agent.task('shop');
    const key = makeKey(seen);
    const responses = await Promise.all(
      Array.from({ length: 5 }, async () => await agent.submit('shop', id, key)),
    );
    expect(responses.map(({ status, json }) => [status, json.revision])).toEqual(Array(5).fill([200, 2]));
    expect((await agent.submit('shop', id, key)).json).toEqual({ revision: 2 });
    expect(await issuancesOf('shop')).toHaveLength(1);
    const another = await agent.submit('shop', id, makeKey(seen));
    expect([another.status, another.json.code]).toEqual([409, 'not_asked']);
  });

  it('is not accepted for the task of another agent, an old task, or a paused order', async () => {
    const [one, other] = (await members(2)) as [SpecAgent, SpecAgent];
    await order('shop');
    await one.state(0);
    await other.state(0);
    const polls = [one, other].map(async (agent) => await agent.state(5));
    await Promise.all(polls);
    const request = await requestOf('shop');
    const assigned = request?.agent_id === one.id ? one : other;
    const idle = assigned === one ? other : one;
    const seen = { dns_names: ['shop.example.com'], key_type: 'rsa' as const };
    const refused = async (agent: SpecAgent, task: string) => {
      const response = await agent.submit('shop', task, makeKey(seen), [agent === one ? other : one]);
      expect([response.status, response.json.code]).toEqual([409, 'not_asked']);
    };
    await refused(idle, request?.id ?? '');
    await refused(assigned, '999999999');
    await tenant.post(path('shop'), { paused: true });
    await refused(assigned, request?.id ?? '');
    await tenant.post(path('shop'), { paused: false });
    await refused(assigned, request?.id ?? '');
  });

  it('is requested from another agent when the first one does not respond', async () => {
    const [one, other] = (await members(2)) as [SpecAgent, SpecAgent];
    await order('shop');
    await one.state(0);
    await one.state(5);
    expect((await requestOf('shop'))?.agent_id).toBe(one.id);
    await query(
      `UPDATE key_request SET assigned_until = now() - interval '1 second' WHERE agent_id = $1`,
      one.id,
    );
    const { id, order: seen } = await other.task('shop');
    expect((await one.submit('shop', id, makeKey(seen), [other])).status).toBe(409);
    expect((await other.submit('shop', id, makeKey(seen), [one])).status).toBe(200);
  });

  it('is refused unless it is sealed for exactly the present members, by the agent itself', async () => {
    const [maker, other] = (await members(2)) as [SpecAgent, SpecAgent];
    await order('shop');
    const { id, order: seen } = await maker.task('shop');
    const key = makeKey(seen);
    const changed = async (receivers: readonly SpecAgent[]) => {
      const response = await maker.submit('shop', id, key, receivers);
      expect([response.status, response.json.code]).toEqual([409, 'members_changed']);
    };
    await changed([]);
    await changed([other, other]);
    await changed([other, new SpecAgent(api, cluster)]);
    const forged = other.seal('shop', key, [maker]).map((each) => ({ ...each, receiver: other.id }));
    const body = { task: id, csr: key.csr, keys: forged };
    expect((await maker.post(agentPaths.csr('shop'), body)).json.sub_errors).toMatchObject([
      { field: 'keys[0].sender' },
    ]);
    const late = await SpecAgent.enrolled(api, cluster);
    await changed([other]);
    expect((await maker.submit('shop', id, key, [other, late])).status).toBe(200);
  });

  it('reaches every other member, and no other agent', async () => {
    const [maker, other] = (await members(2)) as [SpecAgent, SpecAgent];
    await order('shop');
    const { id, order: seen } = await maker.task('shop');
    const key = makeKey(seen);
    await maker.submit('shop', id, key, [other]);
    const keys = agentPaths.keys('shop', key.spkiSha256);
    const { keys: received } = readSealedKeys(Buffer.from((await other.get(keys)).text));
    const binding = {
      ...{ cluster: cluster.name, order: 'shop', spkiSha256: key.spkiSha256 },
      ...{ sender: maker.id, receiver: other.id },
    };
    const opening = { sealingPrivateKey: other.sealing, senderIdentityKey: maker.identityKey };
    expect(received.map((sealed) => Buffer.from(openKey(sealed, binding, opening)))).toEqual([key.pkcs8]);
    expect((await maker.get(keys)).json).toEqual({ keys: [] });
    const stored = await query<{ row: string }>(`SELECT sealed_key::text AS row FROM sealed_key`);
    expect(JSON.stringify(stored)).not.toContain(key.pkcs8.toString('hex'));
  });

  it.each([
    ['for other names', { dns_names: ['other.example.com'], key_type: 'rsa' as const }, 'csr_san_mismatch'],
    [
      'of another key type',
      { dns_names: ['shop.example.com'], key_type: 'ecdsa' as const },
      'unsupported_key_type',
    ],
  ])('%s is refused, and the task stays', async (_, wanted, code) => {
    const [agent] = (await members(1)) as [SpecAgent];
    await order('shop');
    const { id, order: seen } = await agent.task('shop');
    const { status, json } = await agent.submit('shop', id, makeKey(wanted));
    expect([status, json.sub_errors]).toMatchObject([400, [{ field: 'csr', code }]]);
    expect((await agent.submit('shop', id, makeKey(seen))).status).toBe(200);
  });

  it('that is blocked or used already is refused', async () => {
    const { agent, key } = await keyed('first');
    await order('second', { dns_names: ['first.example.com'] });
    const { id, order: seen } = await agent.task('second');
    const used = await agent.submit('second', id, key);
    expect([used.status, used.json.sub_errors]).toMatchObject([
      400,
      [{ field: 'csr', code: 'invalid_value' }],
    ]);
    const blocked = makeKey(seen);
    await query(
      `INSERT INTO blocked_key (spki_sha256, reason) VALUES ($1, 'spec')`,
      Buffer.from(blocked.spkiSha256, 'hex'),
    );
    expect((await agent.submit('second', id, blocked)).json.sub_errors).toMatchObject([
      { code: 'key_compromised' },
    ]);
  });

  it('is requested again when names, key type or cluster change, and not while it is paused', async () => {
    const { agent } = await keyed('shop');
    await tenant.post(path('shop'), { dns_names: ['shop.example.com', 'www.example.com'] });
    const first = await requestOf('shop');
    expect(first?.reason).toBe('first');
    await tenant.post(path('shop'), { key_type: 'ecdsa' });
    const second = await requestOf('shop');
    expect(second?.id).not.toBe(first?.id);
    await tenant.post(path('shop'), { muted: true });
    expect((await requestOf('shop'))?.id).toBe(second?.id);
    await tenant.post(path('shop'), { paused: true });
    expect(await requestOf('shop')).toBeUndefined();
    await tenant.post(path('shop'), { paused: false });
    const { id, order: seen } = await agent.task('shop');
    expect((await agent.submit('shop', id, makeKey(seen))).status).toBe(200);
    expect((await issuancesOf('shop')).filter(({ state }) => state === 'open')).toHaveLength(1);
  });

  it('is not requested of agents any more when the order becomes unmanaged, and again when it comes back', async () => {
    const { agent } = await keyed('shop');
    await tenant.post(path('shop'), { cluster: null });
    expect(await requestOf('shop')).toBeUndefined();
    expect((await tenant.get(`${path('shop')}?expand=issuance`)).json.issuance.phase).toBe('awaiting_csr');
    await eventually(async () => expect((await agent.state(1))?.released).toEqual(['shop']));
    await tenant.post(path('shop'), { cluster: cluster.name });
    await agent.task('shop');
  });

  it('of a revoked certificate is replaced by a new one, without a charge', async () => {
    const { agent } = await keyed('shop');
    const id = await changeCurrent(api, tenant, 'shop');
    await query(`UPDATE issuance SET state = 'canceled', closed_at = now() WHERE state = 'open'`);
    const revoked = await tenant.post(`${path('shop')}/certs/${id}/revoke`, { reason: 'superseded' });
    expect(revoked.status).toBe(200);
    expect((await requestOf('shop'))?.reason).toBe('rekey');
    const { id: task, order: seen } = await agent.task('shop');
    expect((await agent.submit('shop', task, makeKey(seen))).status).toBe(200);
    expect((await issuancesOf('shop')).filter(({ state }) => state === 'open')).toHaveLength(1);
  });

  it('for a renewal becomes the key of the present terms, and the worker opens the renewal', async () => {
    const { agent } = await keyed('shop');
    await changeCurrent(api, tenant, 'shop');
    await query(`UPDATE issuance SET state = 'canceled', closed_at = now() WHERE state = 'open'`);
    await query(
      `INSERT INTO key_request (plan_id, reason, due_at, falls_back_at)
       SELECT plan_id, 'renewal', now(), now() + interval '1 hour' FROM order_v3 WHERE account_id = $1`,
      tenant.accountId,
    );
    const { id, order: seen } = await agent.task('shop');
    const key = makeKey(seen);
    expect((await agent.submit('shop', id, key)).status).toBe(200);
    const [plan] = await query(
      `SELECT renew_at <= now() AS due, encode(terms.spki_sha256, 'hex') AS spki FROM plan
       JOIN order_v3 ON plan_id = plan.id JOIN terms ON terms.id = terms_id WHERE plan.account_id = $1`,
      tenant.accountId,
    );
    expect(plan).toEqual({ due: true, spki: key.spkiSha256 });
    expect((await issuancesOf('shop')).filter(({ state }) => state === 'open')).toEqual([]);
  });

  it('of a paid order that cannot be paid is requested again later, and shown as unpaid', async () => {
    await query(`UPDATE deployment SET mode = 'production'`);
    try {
      const { agent, response } = await keyed('shop', { product: 'paid_ca' });
      expect([response.status, response.json.code]).toEqual([402, 'payment_required']);
      const shown = await tenant.get(`${path('shop')}?expand=issuance`);
      expect(shown.json.issuance).toMatchObject({
        phase: 'awaiting_csr',
        last_error: { code: 'payment_required' },
      });
      expect(await issuancesOf('shop')).toEqual([]);
      await query(
        `WITH booked AS (INSERT INTO ledger_entry (account_id, kind, cents, currency, note) VALUES ($1, 'payment', 1000, 'USD', 'spec'))
         INSERT INTO account_balance (account_id, currency, balance_cents) VALUES ($1, 'USD', 1000)
         ON CONFLICT (account_id) DO UPDATE SET balance_cents = 1000`,
        tenant.accountId,
      );
      await tenant.post(path('shop'), {});
      const { id, order: seen } = await agent.task('shop');
      expect((await agent.submit('shop', id, makeKey(seen))).status).toBe(200);
      const charges = await query(`SELECT cents FROM charge WHERE account_id = $1`, tenant.accountId);
      expect(charges).toEqual([{ cents: 1000 }]);
    } finally {
      await query(`UPDATE deployment SET mode = 'sandbox'`);
    }
  });
});

describe('an order without live agents', () => {
  it('says so in its issuance', async () => {
    await order('shop');
    const lastError = async () =>
      (await tenant.get(`${path('shop')}?expand=issuance`)).json.issuance.last_error;
    expect(await lastError()).toMatchObject({ code: 'no_agents' });
    const [agent] = (await members(1)) as [SpecAgent];
    expect(await lastError()).toBeNull();
    await query(`UPDATE agent SET last_seen_at = now() - interval '16 minutes' WHERE id = $1`, agent.id);
    expect(await lastError()).toMatchObject({ code: 'agents_offline' });
  });
});

describe('a late member', () => {
  it('gets the keys that others hold from one of them, and a second copy changes nothing', async () => {
    const { agent: holder, key } = await keyed('shop');
    const late = await SpecAgent.enrolled(api, cluster);
    await late.state(0);
    const order = await holder.until('shop', ({ tasks }) =>
      tasks.some(({ type }) => type === 'seal_key_for'),
    );
    expect(order.tasks).toEqual([{ type: 'seal_key_for', spki_sha256: key.spkiSha256, members: [late.id] }]);
    const keys = agentPaths.keys('shop', key.spkiSha256);
    const stranger = await late.post(keys, { keys: late.seal('shop', key, [holder]) });
    expect([stranger.status, stranger.json.code]).toEqual([409, 'not_asked']);
    expect((await holder.post(keys, { keys: holder.seal('shop', key, [late]) })).status).toBe(204);
    const [first] = readSealedKeys(Buffer.from((await late.get(keys)).text)).keys;
    expect((await holder.post(keys, { keys: holder.seal('shop', key, [late]) })).status).toBe(204);
    expect(readSealedKeys(Buffer.from((await late.get(keys)).text)).keys).toEqual([first]);
    await late.until('shop', () => true);
    await eventually(async () => {
      await holder.state(1);
      const [row] = await query(
        `SELECT seals_missing FROM cluster WHERE account_id = $1 AND name = $2`,
        tenant.accountId,
        cluster.name,
      );
      expect(row).toEqual({ seals_missing: false });
    });
  });
});

describe('a roll-out', () => {
  const current = async () => {
    const id = await changeCurrent(api, tenant, 'shop');
    const [row] = await query<{ sha256: Buffer }>(`SELECT sha256 FROM certificate WHERE id = $1`, id);
    return row?.sha256.toString('hex') ?? '';
  };

  /** Three agents that have all seen a new certificate. @returns the first one, and the others */
  async function begun() {
    const agents = await members(3);
    await order('shop');
    for (const agent of agents) await agent.state(0);
    const [maker] = agents as [SpecAgent];
    const { id, order: seen } = await maker.task('shop');
    await maker.submit('shop', id, makeKey(seen), agents.slice(1));
    const sha256 = await current();
    const seenBy = await Promise.all(
      agents.map(
        async (agent) => await agent.until('shop', ({ certificate }) => certificate?.sha256 === sha256),
      ),
    );
    const firsts = agents.filter((_, index) => seenBy[index]?.install === 'go');
    expect(firsts).toHaveLength(1);
    const [first] = firsts as [SpecAgent];
    return { first, others: agents.filter((agent) => agent !== first), sha256 };
  }
  const goes = (agent: SpecAgent) => agent.until('shop', ({ install }) => install === 'go');

  it('lets one host go first, and the others when it serves the certificate', async () => {
    const { first, others, sha256 } = await begun();
    expect((await first.report([installationOf('shop', 'installing', null)])).status).toBe(204);
    expect((await first.report([installationOf('shop', 'serving', sha256)])).status).toBe(204);
    await Promise.all(others.map(goes));
  });

  it('passes the turn of a broken host on, and stops after two', async () => {
    const { first, others } = await begun();
    await first.report([installationOf('shop', 'rolled_back', randomHash())]);
    const next = await Promise.race(others.map(async (agent) => (await goes(agent), agent)));
    await next.report([installationOf('shop', 'failed', null)]);
    const [row] = await query(
      `SELECT stopped_at IS NOT NULL AS stopped, cardinality(broken) AS broken FROM rollout JOIN order_v3 USING (plan_id) WHERE account_id = $1`,
      tenant.accountId,
    );
    expect(row).toEqual({ stopped: true, broken: 2 });
    await tenant.post(path('shop'), {});
    const [again] = await query(
      `SELECT stopped_at, cardinality(broken) AS broken FROM rollout JOIN order_v3 USING (plan_id) WHERE account_id = $1`,
      tenant.accountId,
    );
    expect(again).toEqual({ stopped_at: null, broken: 0 });
  });

  it('goes on when a broken host succeeds later', async () => {
    const { first, others, sha256 } = await begun();
    await first.report([installationOf('shop', 'failed', null)]);
    await first.report([installationOf('shop', 'serving', sha256)]);
    await Promise.all(others.map(goes));
  });

  it('does not wait for a host that does not use the order, nor for a silent one', async () => {
    const { first, others } = await begun();
    await first.report([], { without_points: ['shop'] });
    await Promise.all(others.map(goes));
    const next = await current();
    await Promise.all(
      others.map(
        async (agent) => await agent.until('shop', ({ certificate }) => certificate?.sha256 === next),
      ),
    );
    await query(
      `UPDATE rollout SET first_agent = $1, first_since = now() - interval '3 minutes' FROM order_v3 WHERE order_v3.plan_id = rollout.plan_id AND account_id = $2`,
      first.id,
      tenant.accountId,
    );
    await Promise.race(others.map(goes));
  });

  it('is not needed in a cluster with one agent', async () => {
    const { agent } = await keyed('shop');
    const sha256 = await current();
    expect(await agent.until('shop', ({ certificate }) => certificate?.sha256 === sha256)).toMatchObject({
      install: 'go',
    });
  });
});

describe('a report', () => {
  const stored = async () =>
    await query<{ point: string; state: string }>(
      `SELECT point, installation.state FROM installation JOIN order_v3 USING (plan_id) WHERE account_id = $1 ORDER BY point`,
      tenant.accountId,
    );

  it('replaces the installations of the orders that it names, and an older number changes nothing', async () => {
    const { agent } = await keyed('shop');
    await order('mail');
    const all = ['nginx', 'haproxy'].map((point) => installationOf('shop', 'waiting', null, point));
    expect(
      (await agent.report([...all, installationOf('mail', 'waiting', null, 'postfix')], {}, 5)).status,
    ).toBe(204);
    expect(await stored()).toHaveLength(3);
    expect((await agent.report([], { without_points: ['shop'] }, 5)).status).toBe(204);
    expect(await stored()).toHaveLength(3);
    expect((await agent.report([installationOf('shop', 'no_key', null)], {}, 6)).status).toBe(204);
    expect(await stored()).toEqual([
      { point: 'nginx', state: 'no_key' },
      { point: 'postfix', state: 'waiting' },
    ]);
  });

  it('about orders of other clusters is refused, about one that has just left is ignored', async () => {
    const { agent } = await keyed('shop');
    expect((await agent.report([installationOf('nowhere', 'waiting', null)])).json.sub_errors).toMatchObject([
      { field: 'installations[0].order' },
    ]);
    await tenant.delete(path('shop'));
    expect((await agent.report([installationOf('shop', 'serving', randomHash())])).status).toBe(204);
    expect((await agent.report([installationOf('shop', 'released', null)])).status).toBe(204);
    expect(await stored()).toEqual([]);
  });

  it('is bounded plain text', async () => {
    const { agent } = await keyed('shop');
    const installation = installationOf('shop', 'failed', null);
    for (const change of [
      { problem: 'p'.repeat(501) },
      { problem: 'bell \u0007' },
      { problem: 'half a character \ud83d' },
      { point: 'p'.repeat(101) },
      { point: '' },
      { state: 'on fire' },
      { certificate_sha256: 'ABC' },
      { since: 'yesterday' },
      { since: '2026-02-30T00:00:00Z' },
      { point: 'half a character \ud83d' },
      { served: [{ address: 'half \ud83d', sha256: null, checked_at: '2026-11-24T12:00:00Z' }] },
      { served: [{ address: '127.0.0.1:443', sha256: null, checked_at: '2026-13-45T00:00:00Z' }] },
    ])
      expect([change, (await agent.report([{ ...installation, ...change }])).status]).toEqual([change, 400]);
    const many = Array.from({ length: 501 }, (_, index) =>
      installationOf('shop', 'waiting', null, `p${index}`),
    );
    expect((await agent.report(many)).status).toBe(413);
    const html = { ...installation, problem: '<script>alert(1)</script>' };
    expect((await agent.report([html])).status).toBe(204);
  });

  it('larger than its limit is refused before it is read, and a large CSR request is not', async () => {
    const { agent } = await keyed('shop');
    const big = { number: 1, padding: 'x'.repeat(70_000) };
    expect((await agent.post(agentPaths.reports, big)).status).toBe(413);
    const large = { task: '1', csr: 'AAAA', keys: [], padding: 'x'.repeat(1_000_000) };
    expect((await agent.post(agentPaths.csr('shop'), large)).status).toBe(400);
  });
});

it('writes when agents were last seen, and by how much their clocks differ', async () => {
  const [agent] = (await members(1)) as [SpecAgent];
  await query(`UPDATE agent SET last_seen_at = now() - interval '20 minutes' WHERE id = $1`, agent.id);
  agent.clockOffsetS = 100;
  await eventually(
    async () => {
      await agent.get(agentPaths.members);
      const [row] = await query<{ seen: boolean; offset: number }>(
        `SELECT last_seen_at > now() - interval '1 minute' AS seen, clock_offset_s AS offset FROM agent WHERE id = $1`,
        agent.id,
      );
      expect(row?.seen).toBe(true);
      expect(Math.abs((row?.offset ?? 0) - 100)).toBeLessThan(5);
    },
    { withinMs: 20_000 },
  );
});

it('reads the chain of a certificate of the cluster', async () => {
  const { agent } = await keyed('shop');
  const id = await changeCurrent(api, tenant, 'shop');
  const [row] = await query<{ leaf: Buffer }>(`SELECT leaf FROM certificate WHERE id = $1`, id);
  const leaf = row?.leaf ?? Buffer.alloc(0);
  const hash = createHash('sha256').update(leaf).digest('hex');
  const { status, json } = await agent.get(agentPaths.certificate(hash));
  expect([status, json.leaf]).toEqual([200, leaf.toString('base64')]);
  expect((await agent.get(agentPaths.certificate('nonsense'))).status).toBe(404);
});

it('sends every member of a response that is documented for agents', () => {
  const absent = api.documented.absentMembers().filter((member) => schemasOfAgents.test(member));
  expect(absent).toEqual([]);
});

const schemasOfAgents =
  /^(Agent(Cluster|Certificate|Task|Order|State|Chain)|Enrolled|AcceptedKeys|Member|Members|SealedKeys?|CsrAccepted)Schema\./;
