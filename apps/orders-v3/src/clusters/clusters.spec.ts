import { createHash, randomBytes } from 'node:crypto';
import { eventually, type ReceivedResponse } from '@certwright/testing';
import fc from 'fast-check';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { RunningApi, type Tenant } from '../testing/running-api';
import { enrolledAgent, managedOrder } from '../testing/managed-orders';

const path = '/api/v3/clusters';
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
const clusterKey = () => randomBytes(32).toString('base64url');

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant();
});
afterAll(() => api.stop());

const create = async (body: object = { name: 'web' }) => await tenant.post(path, body);
const faultsOf = ({ json }: ReceivedResponse) =>
  json.sub_errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`);

describe('POST /api/v3/clusters', () => {
  it('returns 201 with the location and the cluster', async () => {
    const key = clusterKey();
    const created = await create({ name: 'Web/1', cluster_key: key, rotate_keys: false });
    expect(created.status).toBe(201);
    expect(created.headers).toMatchObject({ location: `${path}/Web%2F1`, etag: expect.any(String) });
    expect(created.json).toEqual({
      name: 'Web/1',
      cluster_key: key,
      rotate_keys: false,
      created_at: timestamp,
    });
    const read = await tenant.get(`${path}/Web%2F1`);
    expect(read.json).toEqual(created.json);
    expect(read.headers.etag).toBe(created.headers.etag);
  });

  it('rotates keys and has no cluster key by default', async () => {
    expect((await create()).json).toMatchObject({ cluster_key: null, rotate_keys: true });
  });

  it('reports all errors at once, and stores nothing', async () => {
    const response = await create({ name: 'a\nb', cluster_key: 'x', rotate_keys: 1, seed: 'y' });
    expect(response.status).toBe(400);
    expect(faultsOf(response).sort()).toEqual([
      'cluster_key invalid_value',
      'name invalid_value',
      'rotate_keys invalid_value',
      'seed invalid_value',
    ]);
    expect(faultsOf(await create({}))).toEqual(['name missing_field']);
    expect((await tenant.get(path)).json).toEqual([]);
  });

  it.each([
    ['31 bytes', randomBytes(31).toString('base64url')],
    ['33 bytes', randomBytes(33).toString('base64url')],
    ['padding', `${clusterKey()}=`],
    ['surplus bits', `${clusterKey().slice(0, 42)}B`],
    ['base64 with +', `+${clusterKey().slice(1)}`],
    ['a line end', `${clusterKey()}\n`],
    ['a number', 7],
    ['an object', { kty: 'OKP' }],
  ])('refuses a cluster key with %s', async (_what, key) => {
    expect(faultsOf(await create({ name: 'web', cluster_key: key }))).toEqual(['cluster_key invalid_value']);
  });

  it.each(['', '.', '..', 'a\nb', 'x'.repeat(256), '\u200b', 7, null])(
    'refuses the name %j',
    async (name) => {
      const response = await create(JSON.parse(JSON.stringify({ name })) as object);
      expect(response.status).toBe(400);
      expect(faultsOf(response)).toEqual(['name invalid_value']);
    },
  );

  it('returns 409 for a name that is taken, also when both come together', async () => {
    const responses = await Promise.all([create(), create(), create()]);
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    expect((await create()).json).toMatchObject({ code: 'already_exists', field: 'name' });
  });

  it('repeats its response for the same Idempotency-Key', async () => {
    const send = () => tenant.post(path, { name: 'web' }, { 'idempotency-key': 'k' });
    const first = await send();
    const again = await send();
    expect(again).toMatchObject({ status: 201, text: first.text });
    expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true', location: `${path}/web` });
  });
});

describe('GET /api/v3/clusters', () => {
  it('lists the clusters by name, in pages', async () => {
    for (const name of ['c', 'a', 'b']) await create({ name });
    const first = await tenant.get(`${path}?limit=2`);
    expect(first.json.map(({ name }: { name: string }) => name)).toEqual(['a', 'b']);
    const [, next] = /^<(.*)>; rel="next"$/.exec(String(first.headers.link)) ?? [];
    expect(next).toBe(`${path}?after=b&limit=2`);
    const second = await tenant.get(String(next));
    expect(second.json.map(({ name }: { name: string }) => name)).toEqual(['c']);
    expect(second.headers).not.toHaveProperty('link');
  });

  it('returns 404 for an unknown one', async () => {
    expect(await tenant.get(`${path}/none`)).toMatchObject({ status: 404, json: { code: 'not_found' } });
  });

  it.each(['%00', '%ED%A0%80', '%zz', 'x'.repeat(300), "'%3B%20DROP%20TABLE%20cluster--"])(
    'returns 4xx for the name %s',
    async (name) => {
      const { status } = await tenant.get(`${path}/${name}`);
      expect([400, 404]).toContain(status);
    },
  );
});

describe('POST /api/v3/clusters/{NAME}', () => {
  it('keeps what is left out', async () => {
    const key = clusterKey();
    await create({ name: 'web', cluster_key: key });
    const modified = await tenant.post(`${path}/web`, { rotate_keys: false });
    expect(modified).toMatchObject({ status: 200, json: { cluster_key: key, rotate_keys: false } });
    expect((await tenant.post(`${path}/web`, modified.json)).json).toEqual(modified.json);
    expect((await tenant.post(`${path}/web`, { cluster_key: null })).json.cluster_key).toBeNull();
  });

  it('refuses another name, and what is unknown', async () => {
    await create();
    expect(faultsOf(await tenant.post(`${path}/web`, { name: 'db', colour: 'red' })).sort()).toEqual([
      'colour invalid_value',
      'name immutable_field',
    ]);
    expect((await tenant.post(`${path}/none`, {})).status).toBe(404);
  });

  it('decides for present orders and for later ones whether a renewal begins with a new key', async () => {
    await create();
    await managedOrder(api, tenant, 'web', 'first');
    const ofPlans = async () => {
      const rows = await api.database.query<{ rotates: boolean }>(
        `SELECT new_key_at_renewal AS rotates FROM plan JOIN order_v3 ON plan_id = plan.id
         WHERE order_v3.account_id = $1 ORDER BY name`,
        [tenant.accountId],
      );
      return rows.map(({ rotates }) => rotates);
    };
    expect(await ofPlans()).toEqual([true]);
    await tenant.post(`${path}/web`, { rotate_keys: false });
    expect(await ofPlans()).toEqual([false]);
    await managedOrder(api, tenant, 'web', 'second');
    expect(await ofPlans()).toEqual([false, false]);
    await tenant.post(`${path}/web`, { rotate_keys: true });
    expect(await ofPlans()).toEqual([true, true]);
  });

  it('changes the cluster key only while the cluster has no agents', async () => {
    const key = clusterKey();
    await create({ name: 'web', cluster_key: key });
    const agent = await enrolledAgent(api, tenant, 'web');
    const refused = await tenant.post(`${path}/web`, { cluster_key: clusterKey() });
    expect(refused).toMatchObject({ status: 409, json: { code: 'conflict' } });
    expect((await tenant.post(`${path}/web`, { cluster_key: key, rotate_keys: false })).status).toBe(200);
    await tenant.delete(`${path}/web/agents/${agent}`);
    expect((await tenant.post(`${path}/web`, { cluster_key: clusterKey() })).status).toBe(200);
  });

  it('checks If-Match before it changes anything', async () => {
    const { headers } = await create();
    const etag = { 'if-match': String(headers.etag) };
    const modified = await tenant.post(`${path}/web`, { rotate_keys: false }, etag);
    expect(modified.status).toBe(200);
    expect(await tenant.post(`${path}/web`, { rotate_keys: true }, etag)).toMatchObject({
      status: 412,
      json: { code: 'revision_mismatch' },
    });
    expect((await tenant.get(`${path}/web`)).headers.etag).toBe(modified.headers.etag);
  });
});

describe('DELETE /api/v3/clusters/{NAME}', () => {
  it('returns 409 while an order names it, and 204 after that', async () => {
    await create();
    await managedOrder(api, tenant, 'web', 'shop');
    const refused = await tenant.delete(`${path}/web`);
    expect(refused).toMatchObject({ status: 409, json: { code: 'cluster_not_empty' } });
    expect(refused.json.message).toContain('shop');
    await tenant.post('/api/v3/orders/shop', { cluster: null });
    expect(await tenant.delete(`${path}/web`)).toMatchObject({ status: 204, text: '' });
    expect((await tenant.delete(`${path}/web`)).status).toBe(404);
  });

  it('removes its agents and enrolment tokens', async () => {
    await create();
    await tenant.post(`${path}/web/enrolments`, {});
    await enrolledAgent(api, tenant, 'web');
    await tenant.delete(`${path}/web`);
    await create();
    expect((await tenant.get(`${path}/web/agents`)).json).toEqual([]);
    expect((await tenant.get(`${path}/web/enrolments`)).json).toEqual([]);
  });

  it('leaves no order that names it, however both come together', async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = `web-${round}`;
      await create({ name });
      const [ordered, deleted] = await Promise.all([
        tenant.post('/api/v3/orders', { name, dns_names: ['example.com'], cluster: name }),
        tenant.delete(`${path}/${name}`),
      ]);
      expect([201, 400]).toContain(ordered.status);
      expect([204, 409]).toContain(deleted.status);
      expect(ordered.status === 201).toBe(deleted.status === 409);
    }
  });
});

describe('POST /api/v3/clusters/{NAME}/rekey', () => {
  interface KeyRequest {
    readonly name: string;
    readonly reason: string;
    readonly dueInS: number;
  }

  const requests = async () =>
    await api.database.query<KeyRequest>(
      `SELECT name, reason, extract(epoch FROM due_at - now())::float8 AS "dueInS"
       FROM key_request JOIN order_v3 USING (plan_id) WHERE account_id = $1 ORDER BY name`,
      [tenant.accountId],
    );

  beforeEach(async () => {
    await create();
    await create({ name: 'db' });
    for (let count = 0; count < 12; count += 1) await managedOrder(api, tenant, 'web', `keyed-${count}`);
    await managedOrder(api, tenant, 'db', 'other');
  });

  it('requests a new key for each order of the cluster, spread over an hour', async () => {
    expect(await tenant.post(`${path}/web/rekey`, {})).toMatchObject({ status: 200, json: { orders: 12 } });
    const requested = await requests();
    expect(requested.map(({ reason }) => reason)).toEqual(Array(12).fill('rekey'));
    expect(requested.every(({ dueInS }) => dueInS > -60 && dueInS < 3_600)).toBe(true);
    expect(new Set(requested.map(({ dueInS }) => Math.round(dueInS))).size).toBeGreaterThan(6);
  });

  it('requests them at once with now, earlier requests included', async () => {
    await tenant.post(`${path}/web/rekey`, undefined);
    expect((await tenant.post(`${path}/web/rekey`, { now: true })).json).toEqual({ orders: 12 });
    expect((await requests()).every(({ dueInS }) => dueInS <= 0)).toBe(true);
  });

  it('takes over the request of a renewal without a delay, so that it outlasts a renewal with the present key', async () => {
    await api.database.query(
      `INSERT INTO key_request (plan_id, reason, due_at, falls_back_at)
       SELECT plan_id, 'renewal', now(), now() + interval '1 hour' FROM order_v3 WHERE account_id = $1 AND name = 'keyed-0'`,
      [tenant.accountId],
    );
    expect((await tenant.post(`${path}/web/rekey`, {})).json).toEqual({ orders: 12 });
    expect((await requests())[0]?.dueInS).toBeLessThanOrEqual(0);
    // Renews the certificate with the present key, which ends the requests of renewals.
    expect((await tenant.post('/api/v3/orders/keyed-0', { muted: true })).status).toBe(200);
    expect((await requests())[0]).toMatchObject({ name: 'keyed-0', reason: 'rekey' });
  });

  it('holds no request that a renewal is about to end while it waits for the plan of that renewal', async () => {
    const ofOrder = `plan_id IN (SELECT plan_id FROM order_v3 WHERE account_id = $1 AND name = 'keyed-0')`;
    await api.database.query(
      `INSERT INTO key_request (plan_id, reason, due_at, falls_back_at)
       SELECT plan_id, 'renewal', now(), now() + interval '1 hour' FROM order_v3 WHERE ${ofOrder}`,
      [tenant.accountId],
    );
    const rekeyed = await api.database.transaction(async (renewal) => {
      await renewal.query(
        `SELECT 1 FROM plan WHERE id IN (SELECT plan_id FROM order_v3 WHERE ${ofOrder}) FOR UPDATE`,
        [tenant.accountId],
      );
      const rekeying = tenant.post(`${path}/web/rekey`, {});
      await eventually(async () => {
        const waiting = await api.database.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        expect(waiting).toHaveLength(1);
      });
      // Otherwise a deadlock.
      await renewal.query(`SET LOCAL lock_timeout = 300`);
      await renewal.query(`DELETE FROM key_request WHERE ${ofOrder}`, [tenant.accountId]);
      return { rekeying };
    });
    expect((await rekeyed.rekeying).json).toEqual({ orders: 12 });
    expect((await requests())[0]).toMatchObject({ name: 'keyed-0', reason: 'rekey' });
  });

  it('refuses what is unknown, and an unknown cluster', async () => {
    expect(faultsOf(await tenant.post(`${path}/web/rekey`, { now: 'yes', at: 1 })).sort()).toEqual([
      'at invalid_value',
      'now invalid_value',
    ]);
    expect((await tenant.post(`${path}/none/rekey`, {})).status).toBe(404);
  });
});

describe('enrolment tokens', () => {
  const enrolments = `${path}/web/enrolments`;
  beforeEach(async () => void (await create()));

  it('shows the token once, and stores only its SHA-256', async () => {
    const created = await tenant.post(enrolments, { uses: 3, expires_in: 600 });
    expect(created.status).toBe(201);
    const { token, ...shown } = created.json;
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(shown).toMatchObject({ id: expect.any(Number), uses: 3, used: 0, state: 'active' });
    const lifetimeS = (Date.parse(shown.expires_at) - Date.parse(shown.created_at)) / 1_000;
    expect(Math.abs(lifetimeS - 600)).toBeLessThanOrEqual(2);
    expect((await tenant.get(enrolments)).json).toEqual([shown]);
    const rows = await api.database.query<{ digest: Buffer }>(
      `SELECT token_sha256 AS digest FROM cluster_enrolment WHERE account_id = $1`,
      [tenant.accountId],
    );
    expect(rows).toEqual([{ digest: createHash('sha256').update(token).digest() }]);
  });

  it('is for one host and one hour by default, also without a body', async () => {
    const { json } = await tenant.post(enrolments, undefined);
    expect(json).toMatchObject({ uses: 1, used: 0 });
    expect(Math.abs(Date.parse(json.expires_at) - Date.now() - 3_600_000)).toBeLessThan(60_000);
  });

  it('repeats the token for the same Idempotency-Key, which is stored sealed', async () => {
    const send = () => tenant.post(enrolments, {}, { 'idempotency-key': 'k' });
    const first = await send();
    expect((await send()).text).toBe(first.text);
    const rows = await api.database.query<{ body: string }>(
      `SELECT body FROM idempotency_record WHERE account_id = $1`,
      [tenant.accountId],
    );
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(first.json.token);
  });

  it.each([
    [{ uses: 0 }, 'uses out_of_range'],
    [{ uses: 1_001 }, 'uses out_of_range'],
    [{ uses: 1.5 }, 'uses invalid_value'],
    [{ uses: '1' }, 'uses invalid_value'],
    [{ expires_in: 59 }, 'expires_in out_of_range'],
    [{ expires_in: 2_592_001 }, 'expires_in out_of_range'],
    [{ token: 'mine' }, 'token invalid_value'],
  ])('refuses %j', async (body, fault) => {
    expect(faultsOf(await tenant.post(enrolments, body))).toEqual([fault]);
  });

  it('is listed as used up, expired or revoked, and forgotten 30 days later', async () => {
    const ids: number[] = [];
    for (let count = 0; count < 5; count += 1) ids.push((await tenant.post(enrolments, {})).json.id);
    const [active, usedUp, expired, revoked, old] = ids;
    await tenant.delete(`${enrolments}/${revoked}`);
    for (const [id, change] of [
      [usedUp, 'used = 1'],
      [expired, `expires_at = now() - interval '1 day'`],
      [old, `expires_at = now() - interval '31 days'`],
    ] as const)
      await api.database.query(`UPDATE cluster_enrolment SET ${change} WHERE id = $1`, [id]);
    const listed = (await tenant.get(enrolments)).json as { id: number; state: string }[];
    expect(new Map(listed.map(({ id, state }) => [id, state]))).toEqual(
      new Map([
        [active, 'active'],
        [usedUp, 'used_up'],
        [expired, 'expired'],
        [revoked, 'revoked'],
      ]),
    );
    await tenant.post(enrolments, {});
    expect(await api.database.query(`SELECT 1 FROM cluster_enrolment WHERE id = $1`, [old])).toEqual([]);
  });

  it('is listed in pages, newest first', async () => {
    const ids: number[] = [];
    for (let count = 0; count < 3; count += 1) ids.push((await tenant.post(enrolments, {})).json.id);
    const first = await tenant.get(`${enrolments}?limit=2`);
    const [, next] = /^<(.*)>/.exec(String(first.headers.link)) ?? [];
    const second = await tenant.get(String(next));
    const listed = [...first.json, ...second.json].map(({ id }: { id: number }) => id);
    expect(listed).toEqual([...ids].reverse());
  });

  it('can be revoked, and again', async () => {
    const { id } = (await tenant.post(enrolments, {})).json as { id: number };
    expect((await tenant.delete(`${enrolments}/${id}`)).status).toBe(204);
    expect((await tenant.delete(`${enrolments}/${id}`)).status).toBe(204);
    expect((await tenant.delete(`${enrolments}/1`)).status).toBe(404);
    expect((await tenant.delete(`${enrolments}/x`)).status).toBe(404);
  });

  it('is refused beyond 1,000 active ones', async () => {
    await api.database.query(
      `INSERT INTO cluster_enrolment (account_id, cluster, token_sha256, uses, expires_at)
       SELECT $1::bigint, 'web', sha256(convert_to($1::bigint || ' ' || number, 'UTF8')), 1, now() + interval '1 hour'
       FROM generate_series(1, 1000) AS number`,
      [tenant.accountId],
    );
    expect(await tenant.post(enrolments, {})).toMatchObject({ status: 409, json: { code: 'conflict' } });
    const [{ id }] = (await tenant.get(`${enrolments}?limit=1`)).json;
    await tenant.delete(`${enrolments}/${id}`);
    expect((await tenant.post(enrolments, {})).status).toBe(201);
  });
});

describe('agents', () => {
  const agents = `${path}/web/agents`;
  beforeEach(async () => void (await create()));

  it('shows what each reports, and whether it is online', async () => {
    const id = await enrolledAgent(api, tenant, 'web', { name: 'web-1', seenMinutesAgo: 1, clockOffsetS: 3 });
    const shown = {
      ...{ id, name: 'web-1', version: '1.0.0', platform: 'linux x64', state: 'online' },
      ...{ last_seen_at: timestamp, clock_offset: 3, problem: null, enrolled_at: timestamp },
    };
    expect((await tenant.get(`${agents}/${id}`)).json).toEqual(shown);
    expect((await tenant.get(agents)).json).toEqual([shown]);
  });

  it('is offline after 15 minutes, with what to do', async () => {
    const problem = 'The disk is full.';
    const id = await enrolledAgent(api, tenant, 'web', { seenMinutesAgo: 16, problem });
    const { json } = await tenant.get(`${agents}/${id}`);
    expect(json.state).toBe('offline');
    expect(json.problem).toMatch(/certwright-agent runs.*The disk is full\./s);
    await api.database.query(`UPDATE agent SET last_seen_at = now() - interval '14 minutes' WHERE id = $1`, [
      id,
    ]);
    expect((await tenant.get(`${agents}/${id}`)).json).toMatchObject({ state: 'online', problem });
  });

  it('can be removed, and again: no key stays sealed for it, and no key is expected of it', async () => {
    const id = await enrolledAgent(api, tenant, 'web');
    const planId = await managedOrder(api, tenant, 'web', 'shop');
    const values = [tenant.accountId, id, planId];
    for (const statement of [
      `INSERT INTO managed_key (account_id, cluster, spki_sha256, plan_id, made_by, task_id, csr_sha256, revision)
       VALUES ($1, 'web', sha256('k'), $3, $2, 1, sha256('csr'), 1)`,
      `INSERT INTO sealed_key (account_id, cluster, spki_sha256, receiver, sender, enc, ciphertext, signature)
       VALUES ($1, 'web', sha256('k'), $2, $2, sha256(''), $3::text::bytea, sha512(''))`,
      `INSERT INTO key_request (plan_id, reason, due_at, agent_id, assigned_until)
       SELECT $3, 'rekey', now(), $2, now() + interval '1 minute' WHERE $1::bigint > 0`,
      `INSERT INTO installation (plan_id, agent_id, point, state, since)
       SELECT $3, $2, 'nginx', 'waiting', now() WHERE $1::bigint > 0`,
    ])
      await api.database.query(statement, values);
    const before = await versionOf('web');
    expect((await tenant.delete(`${agents}/${id}`)).status).toBe(204);
    expect((await tenant.get(`${agents}/${id}`)).json.state).toBe('removed');
    for (const table of [
      'sealed_key WHERE receiver',
      'installation WHERE agent_id',
      'key_request WHERE agent_id',
    ])
      expect(await api.database.query(`SELECT 1 FROM ${table} = $1`, [id])).toEqual([]);
    expect(await versionOf('web')).toBeGreaterThan(before);
    expect((await tenant.delete(`${agents}/${id}`)).status).toBe(204);
  });

  it('is listed by id, in pages', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) ids.push(await enrolledAgent(api, tenant, 'web'));
    const first = await tenant.get(`${agents}?limit=2`);
    const [, next] = /^<(.*)>/.exec(String(first.headers.link)) ?? [];
    const second = await tenant.get(String(next));
    const listed = [...first.json, ...second.json].map(({ id }: { id: string }) => id);
    expect(listed).toEqual([...ids].sort());
    expect((await tenant.get(`${agents}?after=x`)).json).toMatchObject({ code: 'bad_query' });
  });

  it.each(['x', '%00', 'A'.repeat(22), '../web'])('returns 404 for the id %s', async (id) => {
    for (const response of [await tenant.get(`${agents}/${id}`), await tenant.delete(`${agents}/${id}`)])
      expect([400, 404, 405]).toContain(response.status);
  });

  const versionOf = async (name: string) => {
    const [row] = await api.database.query<{ version: string }>(
      `SELECT members_version AS version FROM cluster WHERE account_id = $1 AND name = $2`,
      [tenant.accountId, name],
    );
    return Number(row?.version);
  };
});

describe('another account', () => {
  it('gets the same response as for an unknown cluster', async () => {
    const owner = await api.tenant();
    await owner.post(path, { name: 'web' });
    const { id } = (await owner.post(`${path}/web/enrolments`, {})).json as { id: number };
    const agent = await enrolledAgent(api, owner, 'web');
    const probes = [
      (name: string) => tenant.get(`${path}/${name}`),
      (name: string) => tenant.post(`${path}/${name}`, { rotate_keys: false }),
      (name: string) => tenant.delete(`${path}/${name}`),
      (name: string) => tenant.post(`${path}/${name}/rekey`, {}),
      (name: string) => tenant.get(`${path}/${name}/enrolments`),
      (name: string) => tenant.post(`${path}/${name}/enrolments`, {}),
      (name: string) => tenant.delete(`${path}/${name}/enrolments/${id}`),
      (name: string) => tenant.get(`${path}/${name}/agents`),
      (name: string) => tenant.get(`${path}/${name}/agents/${agent}`),
      (name: string) => tenant.delete(`${path}/${name}/agents/${agent}`),
    ];
    for (const probe of probes) {
      const [foreign, missing] = [await probe('web'), await probe('none')];
      expect([foreign.status, foreign.text]).toEqual([missing.status, missing.text]);
      expect(foreign.status).toBe(404);
    }
    await create();
    expect((await tenant.get(`${path}/web/agents/${agent}`)).status).toBe(404);
    expect((await tenant.delete(`${path}/web/agents/${agent}`)).status).toBe(404);
    expect((await tenant.delete(`${path}/web/enrolments/${id}`)).status).toBe(404);
    expect((await owner.get(`${path}/web/agents/${agent}`)).json.state).toBe('online');
    expect((await owner.get(`${path}/web/enrolments`)).json).toMatchObject([{ id, state: 'active' }]);
  });

  it('needs the permission Order and Manage Certificates, or Full Access', async () => {
    const monitors = await api.tenant('Manage Monitored Domains');
    const full = await api.tenant('Full Access');
    for (const target of [path, `${path}/web`, `${path}/web/agents`, `${path}/web/enrolments`])
      expect(await monitors.get(target)).toMatchObject({ status: 403, json: { code: 'unauthorized' } });
    expect((await full.get(path)).status).toBe(200);
  });
});

it('returns no 5xx, and an error object, whatever is sent', async () => {
  await create();
  const member = fc.oneof(fc.jsonValue(), fc.constantFrom('web', 1, 60, true, null, 'A'.repeat(43)));
  const names = ['name', 'cluster_key', 'rotate_keys', 'now', 'uses', 'expires_in', '__proto__', 'x'];
  const bodies = fc.oneof(
    fc.string(),
    fc.json({ maxDepth: 4 }),
    fc.dictionary(fc.constantFrom(...names), member).map((value) => JSON.stringify(value)),
  );
  const targets = fc.constantFrom(path, `${path}/web`, `${path}/web/rekey`, `${path}/web/enrolments`);
  await fc.assert(
    fc.asyncProperty(targets, bodies, async (target, body) => {
      const { status, json } = await tenant.post(target, body);
      expect(status).toBeLessThan(500);
      if (status >= 400)
        expect(json).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    }),
    { numRuns: 200 },
  );
});

it.each([
  ['a body of 300 KiB', path, JSON.stringify({ name: 'x'.repeat(300_000) }), 413],
  ['deep nesting', path, `${'['.repeat(50_000)}${']'.repeat(50_000)}`, 400],
  ['an array', `${path}/web/enrolments`, [], 400],
  ['a NUL in a name', path, '{"name":"a\\u0000b"}', 400],
])('refuses %s', async (_what, target, body, status) => {
  await create();
  expect((await tenant.post(target, body)).status).toBe(status);
});

it('has a number of statements that does not depend on the number of rows', async () => {
  const countOf = async () =>
    (
      await api.statementsOf(async () => {
        await tenant.get(path);
        await tenant.get(`${path}/web/agents`);
        await tenant.get(`${path}/web/enrolments`);
      })
    ).length;
  await create();
  const before = await countOf();
  for (let count = 0; count < 4; count += 1) {
    await create({ name: `web-${count}` });
    await enrolledAgent(api, tenant, 'web');
    await tenant.post(`${path}/web/enrolments`, {});
  }
  expect(await countOf()).toBe(before);
});

it('is not changed by an order of the same name without cluster', async () => {
  const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });
  await create();
  await tenant.post('/api/v3/orders', { name: 'web', dns_names: ['example.com'], csr });
  expect((await tenant.delete(`${path}/web`)).status).toBe(204);
});
