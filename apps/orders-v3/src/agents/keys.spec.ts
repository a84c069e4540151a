import { agentPaths, openKey, readSealedKeys } from '@certwright/agent-contract';
import { eventually } from '@certwright/testing';
import { AgentsFixture, orderPath } from '../testing/agents-fixture';
import { changeCurrent } from '../testing/current-certificate';
import type { Tenant } from '../testing/running-api';
import { makeKey, SpecAgent, type SpecCluster } from '../testing/spec-agent';

jest.setTimeout(60_000);

let fixture: AgentsFixture;
let tenant: Tenant;
let cluster: SpecCluster;

beforeAll(async () => {
  fixture = await AgentsFixture.start();
  await fixture.query(`UPDATE product SET price_cents = 1000 WHERE name = 'paid_ca'`);
});
afterAll(async () => await fixture.stop());
beforeEach(async () => {
  ({ tenant, cluster } = await fixture.begin());
});

describe('a key', () => {
  it('is requested from one agent, and its CSR issues a certificate at once, as a modification', async () => {
    const { response, key } = await fixture.keyed('shop');
    expect(response).toMatchObject({ status: 200, json: { revision: 2 } });
    expect(await fixture.issuancesOf('shop')).toEqual([{ state: 'open', revision: 2, due: true }]);
    const shown = await tenant.get(`${orderPath('shop')}?expand=csr&expand=issuance`);
    expect(shown.json).toMatchObject({ csr: key.csr, pubkey_sha256: key.spkiSha256, revision: 2 });
    expect(await fixture.requestOf('shop')).toBeUndefined();
  });

  it('is requested with ids that do not reveal how many requests there are', async () => {
    const ids = [Number((await fixture.keyed('shop')).id)];
    const seen = async (name: string) => ids.push(Number((await fixture.requestOf(name))?.id));
    await fixture.order('mail');
    await seen('mail');
    await tenant.post(`/api/v3/clusters/${encodeURIComponent(cluster.name)}/rekey`, {});
    await seen('shop');
    const distances = ids.map((id, at) => Math.abs(id - (ids[at - 1] ?? 0)));
    expect(Math.min(...distances)).toBeGreaterThan(1_000);
  });

  it('gets the same response for the same CSR again, also at the same time, and issues once', async () => {
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    await fixture.order('shop');
    const { id, order: seen } = await agent.task('shop');
    const key = makeKey(seen);
    const responses = await Promise.all(
      Array.from({ length: 5 }, async () => await agent.submit('shop', id, key)),
    );
    expect(responses.map(({ status, json }) => [status, json.revision])).toEqual(Array(5).fill([200, 2]));
    expect((await agent.submit('shop', id, key)).json).toEqual({ revision: 2 });
    expect(await fixture.issuancesOf('shop')).toHaveLength(1);
    const another = await agent.submit('shop', id, makeKey(seen));
    expect([another.status, another.json.code]).toEqual([409, 'not_asked']);
  });

  it('is not accepted for the task of another agent, an old task, or a paused order', async () => {
    const [one, other] = (await fixture.members(2)) as [SpecAgent, SpecAgent];
    await fixture.order('shop');
    await one.state(0);
    await other.state(0);
    const polls = [one, other].map(async (agent) => await agent.state(5));
    await Promise.all(polls);
    const request = await fixture.requestOf('shop');
    const assigned = request?.agent_id === one.id ? one : other;
    const idle = assigned === one ? other : one;
    const seen = { dns_names: ['shop.example.com'], key_type: 'rsa' as const };
    const refused = async (agent: SpecAgent, task: string) => {
      const response = await agent.submit('shop', task, makeKey(seen), [agent === one ? other : one]);
      expect([response.status, response.json.code]).toEqual([409, 'not_asked']);
    };
    await refused(idle, request?.id ?? '');
    await refused(assigned, '999999999');
    await tenant.post(orderPath('shop'), { paused: true });
    await refused(assigned, request?.id ?? '');
    await tenant.post(orderPath('shop'), { paused: false });
    await refused(assigned, request?.id ?? '');
  });

  it('is requested from another agent when the first one does not respond', async () => {
    const [one, other] = (await fixture.members(2)) as [SpecAgent, SpecAgent];
    await fixture.order('shop');
    await one.state(0);
    await one.state(5);
    expect((await fixture.requestOf('shop'))?.agent_id).toBe(one.id);
    await fixture.query(
      `UPDATE key_request SET assigned_until = now() - interval '1 second' WHERE agent_id = $1`,
      one.id,
    );
    const { id, order: seen } = await other.task('shop');
    expect((await one.submit('shop', id, makeKey(seen), [other])).status).toBe(409);
    expect((await other.submit('shop', id, makeKey(seen), [one])).status).toBe(200);
  });

  it('is refused unless it is sealed for exactly the present members, by the agent itself', async () => {
    const [maker, other] = (await fixture.members(2)) as [SpecAgent, SpecAgent];
    await fixture.order('shop');
    const { id, order: seen } = await maker.task('shop');
    const key = makeKey(seen);
    const changed = async (receivers: readonly SpecAgent[]) => {
      const response = await maker.submit('shop', id, key, receivers);
      expect([response.status, response.json.code]).toEqual([409, 'members_changed']);
    };
    await changed([]);
    await changed([other, other]);
    await changed([other, new SpecAgent(fixture.api, cluster)]);
    const forged = other.seal('shop', key, [maker]).map((each) => ({ ...each, receiver: other.id }));
    const body = { task: id, csr: key.csr, keys: forged };
    expect((await maker.post(agentPaths.csr('shop'), body)).json.sub_errors).toMatchObject([
      { field: 'keys[0].sender' },
    ]);
    const late = await SpecAgent.enrolled(fixture.api, cluster);
    await changed([other]);
    expect((await maker.submit('shop', id, key, [other, late])).status).toBe(200);
  });

  it('reaches every other member, and no other agent', async () => {
    const [maker, other] = (await fixture.members(2)) as [SpecAgent, SpecAgent];
    await fixture.order('shop');
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
    const stored = await fixture.query<{ row: string }>(`SELECT sealed_key::text AS row FROM sealed_key`);
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
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    await fixture.order('shop');
    const { id, order: seen } = await agent.task('shop');
    const { status, json } = await agent.submit('shop', id, makeKey(wanted));
    expect([status, json.sub_errors]).toMatchObject([400, [{ field: 'csr', code }]]);
    expect((await agent.submit('shop', id, makeKey(seen))).status).toBe(200);
  });

  it('that is blocked or used already is refused', async () => {
    const { agent, key } = await fixture.keyed('first');
    await fixture.order('second', { dns_names: ['first.example.com'] });
    const { id, order: seen } = await agent.task('second');
    const used = await agent.submit('second', id, key);
    expect([used.status, used.json.sub_errors]).toMatchObject([
      400,
      [{ field: 'csr', code: 'invalid_value' }],
    ]);
    const blocked = makeKey(seen);
    await fixture.query(
      `INSERT INTO blocked_key (spki_sha256, reason) VALUES ($1, 'spec')`,
      Buffer.from(blocked.spkiSha256, 'hex'),
    );
    expect((await agent.submit('second', id, blocked)).json.sub_errors).toMatchObject([
      { code: 'key_compromised' },
    ]);
  });

  it('is requested again when names, key type or cluster change, and not while it is paused', async () => {
    const { agent } = await fixture.keyed('shop');
    await tenant.post(orderPath('shop'), { dns_names: ['shop.example.com', 'www.example.com'] });
    const first = await fixture.requestOf('shop');
    expect(first?.reason).toBe('first');
    await tenant.post(orderPath('shop'), { key_type: 'ecdsa' });
    const second = await fixture.requestOf('shop');
    expect(second?.id).not.toBe(first?.id);
    await tenant.post(orderPath('shop'), { muted: true });
    expect((await fixture.requestOf('shop'))?.id).toBe(second?.id);
    await tenant.post(orderPath('shop'), { paused: true });
    expect(await fixture.requestOf('shop')).toBeUndefined();
    await tenant.post(orderPath('shop'), { paused: false });
    const { id, order: seen } = await agent.task('shop');
    expect((await agent.submit('shop', id, makeKey(seen))).status).toBe(200);
    expect((await fixture.issuancesOf('shop')).filter(({ state }) => state === 'open')).toHaveLength(1);
  });

  it('is not requested of agents any more when the order becomes unmanaged, and again when it comes back', async () => {
    const { agent } = await fixture.keyed('shop');
    await tenant.post(orderPath('shop'), { cluster: null });
    expect(await fixture.requestOf('shop')).toBeUndefined();
    expect((await tenant.get(`${orderPath('shop')}?expand=issuance`)).json.issuance.phase).toBe(
      'awaiting_csr',
    );
    await eventually(async () => expect((await agent.state(1))?.released).toEqual(['shop']));
    await tenant.post(orderPath('shop'), { cluster: cluster.name });
    await agent.task('shop');
  });

  it('of a revoked certificate is replaced by a new one, without a charge', async () => {
    const { agent } = await fixture.keyed('shop');
    const id = await changeCurrent(fixture.api, tenant, 'shop');
    await fixture.query(`UPDATE issuance SET state = 'canceled', closed_at = now() WHERE state = 'open'`);
    const revoked = await tenant.post(`${orderPath('shop')}/certs/${id}/revoke`, { reason: 'superseded' });
    expect(revoked.status).toBe(200);
    expect((await fixture.requestOf('shop'))?.reason).toBe('rekey');
    const { id: task, order: seen } = await agent.task('shop');
    expect((await agent.submit('shop', task, makeKey(seen))).status).toBe(200);
    expect((await fixture.issuancesOf('shop')).filter(({ state }) => state === 'open')).toHaveLength(1);
  });

  it.each([
    [false, 1],
    [true, 2],
  ])(
    'of a rekey after the paid term, with auto_renew %j, leads to %i charges',
    async (auto_renew, charges) => {
      const { agent } = await fixture.keyed('shop', { product: 'paid_ca', auto_renew });
      const { accountId } = tenant;
      await fixture.query(
        `UPDATE issuance SET state = 'issued', closed_at = now() WHERE account_id = $1`,
        accountId,
      );
      await fixture.query(
        `UPDATE plan SET paid_through = now() - interval '1 day' WHERE account_id = $1`,
        accountId,
      );
      await tenant.post(`/api/v3/clusters/${encodeURIComponent(cluster.name)}/rekey`, { now: true });
      const { id, order: seen } = await agent.task('shop');
      expect((await agent.submit('shop', id, makeKey(seen))).status).toBe(200);
      const bought = await fixture.query(`SELECT id FROM charge WHERE account_id = $1`, accountId);
      expect(bought).toHaveLength(charges);
    },
  );

  it('for a renewal becomes the key of the present terms, and the worker opens the renewal', async () => {
    const { agent } = await fixture.keyed('shop');
    await changeCurrent(fixture.api, tenant, 'shop');
    await fixture.query(`UPDATE issuance SET state = 'canceled', closed_at = now() WHERE state = 'open'`);
    await fixture.query(
      `INSERT INTO key_request (plan_id, reason, due_at, falls_back_at)
       SELECT plan_id, 'renewal', now(), now() + interval '1 hour' FROM order_v3 WHERE account_id = $1`,
      tenant.accountId,
    );
    const { id, order: seen } = await agent.task('shop');
    const key = makeKey(seen);
    expect((await agent.submit('shop', id, key)).status).toBe(200);
    const [plan] = await fixture.query(
      `SELECT renew_at <= now() AS due, encode(terms.spki_sha256, 'hex') AS spki FROM plan
       JOIN order_v3 ON plan_id = plan.id JOIN terms ON terms.id = terms_id WHERE plan.account_id = $1`,
      tenant.accountId,
    );
    expect(plan).toEqual({ due: true, spki: key.spkiSha256 });
    expect((await fixture.issuancesOf('shop')).filter(({ state }) => state === 'open')).toEqual([]);
  });

  it('of a paid order that cannot be paid is requested again later, and shown as unpaid', async () => {
    await fixture.query(`UPDATE deployment SET mode = 'production'`);
    try {
      const { agent, response } = await fixture.keyed('shop', { product: 'paid_ca' });
      expect([response.status, response.json.code]).toEqual([402, 'payment_required']);
      const shown = await tenant.get(`${orderPath('shop')}?expand=issuance`);
      expect(shown.json.issuance).toMatchObject({
        phase: 'awaiting_csr',
        last_error: { code: 'payment_required' },
      });
      expect(await fixture.issuancesOf('shop')).toEqual([]);
      await fixture.query(
        `WITH booked AS (INSERT INTO ledger_entry (account_id, kind, cents, currency, note) VALUES ($1, 'payment', 1000, 'USD', 'spec'))
         INSERT INTO account_balance (account_id, currency, balance_cents) VALUES ($1, 'USD', 1000)
         ON CONFLICT (account_id) DO UPDATE SET balance_cents = 1000`,
        tenant.accountId,
      );
      await tenant.post(orderPath('shop'), {});
      const { id, order: seen } = await agent.task('shop');
      expect((await agent.submit('shop', id, makeKey(seen))).status).toBe(200);
      const charges = await fixture.query(`SELECT cents FROM charge WHERE account_id = $1`, tenant.accountId);
      expect(charges).toEqual([{ cents: 1000 }]);
    } finally {
      await fixture.query(`UPDATE deployment SET mode = 'sandbox'`);
    }
  });
});

describe('an order without live agents', () => {
  it('says so in its issuance', async () => {
    await fixture.order('shop');
    const lastError = async () =>
      (await tenant.get(`${orderPath('shop')}?expand=issuance`)).json.issuance.last_error;
    expect(await lastError()).toMatchObject({ code: 'no_agents' });
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    expect(await lastError()).toBeNull();
    await fixture.query(
      `UPDATE agent SET last_seen_at = now() - interval '16 minutes' WHERE id = $1`,
      agent.id,
    );
    expect(await lastError()).toMatchObject({ code: 'agents_offline' });
  });
});

describe('a late member', () => {
  it('gets the keys that others hold from one of them, and a second copy changes nothing', async () => {
    const { agent: holder, key } = await fixture.keyed('shop');
    const late = await SpecAgent.enrolled(fixture.api, cluster);
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
      const [row] = await fixture.query(
        `SELECT seals_missing FROM cluster WHERE account_id = $1 AND name = $2`,
        tenant.accountId,
        cluster.name,
      );
      expect(row).toEqual({ seals_missing: false });
    });
  });
});
