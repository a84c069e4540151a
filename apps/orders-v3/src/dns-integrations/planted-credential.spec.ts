import { createHash, randomBytes } from 'node:crypto';
import type { ReceivedResponse } from '@certwright/testing';
import { FakeGateway, refusal } from '../testing/gateway';
import { RunningApi, type Tenant } from '../testing/running-api';

const path = '/api/v3/account/dns_integrations';
const planted = `planted-${randomBytes(16).toString('hex')}`;
const bodyOf = (token = planted) => ({ provider: 'desec', credentials: { type: 'bearer', token } });

/** Every form that could reveal it or confirm a guess. */
function traces(): readonly string[] {
  const bytes = Buffer.from(planted);
  const canonical = `{"credentials":{"token":"${planted}","type":"bearer"},"provider":"desec"}`;
  const digests = [planted, canonical, JSON.stringify(bodyOf())].map((text) =>
    createHash('sha256').update(text).digest('hex'),
  );
  const encoded = [
    bytes.toString('hex'),
    bytes.toString('base64').slice(0, 40),
    bytes.toString('base64url').slice(0, 40),
  ];
  return [
    planted,
    ...encoded,
    ...digests,
    ...digests.map((hex) => Buffer.from(hex, 'hex').toString('base64')),
  ];
}

let gateway: FakeGateway;
let api: RunningApi;
let tenant: Tenant;
const responses: ReceivedResponse[] = [];

beforeAll(async () => {
  gateway = await FakeGateway.open();
  api = await RunningApi.start({ ...gateway.settings, LOG_LEVEL: 'debug' });
  tenant = await api.tenant('Full Access');
  await everyWay();
});
afterAll(async () => {
  await api.stop();
  await gateway.close();
});

/** The credential goes through every branch: stored, repeated, refused, lost, malformed, in the wrong place. */
async function everyWay(): Promise<void> {
  const post = async (body: unknown, headers = {}) =>
    void responses.push(await tenant.post(path, body, headers));
  const key = { 'idempotency-key': 'k1' };
  await post(bodyOf());
  await post(bodyOf(), key);
  await post(bodyOf(), key);
  await post(bodyOf(`${planted}2`), key);
  for (const code of ['provider_auth_failed', 'unauthorized', 'internal_error', 'provider_unavailable']) {
    gateway.willFail('make_integration', refusal(code, 'No.'));
    await post(bodyOf());
  }
  gateway.willFail('make_integration', 'response is lost', 'response is lost');
  await post(bodyOf(), { 'idempotency-key': 'k2' });
  await post({ ...bodyOf(), provider: planted });
  await post({ provider: 'desec', credentials: planted });
  await post({ provider: 'desec', credentials: { type: planted } });
  await post({ provider: 'desec', credentials: { type: 'bearer', [planted]: 7 } });
  await post({ provider: 'desec', credentials: { type: 'sealed', jwe: planted } });
  await post({ provider: 'desec', credentials: { type: 'sealed', jwe: 'a.b.c.d.e', [planted]: planted } });
  await post(`{"provider": "desec", "credentials": {"token": "${planted}"`);
  await post(bodyOf(), { 'content-type': 'text/plain' });
  const [{ id } = { id: 0 }] = (await tenant.get(path)).json;
  responses.push(await tenant.get(`${path}/${id}/zones`), await tenant.get(`${path}?expand=zones`));
}

it('goes to the gateway, and the ways it went are those meant', () => {
  expect(responses.map(({ status }) => status)).toEqual([
    ...[201, 201, 201, 422],
    ...[400, 500, 503, 503],
    503,
    ...[400, 400, 400, 400, 400, 400, 400, 415],
    ...[200, 200],
  ]);
  const kept = [...gateway.handles.values()].map(({ credentials }) => JSON.stringify(credentials));
  expect(kept.join()).toContain(planted);
});

it('is in no column of the database', async () => {
  const columns = await api.database.query<{ table_name: string; column_name: string }>(
    `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'`,
  );
  expect(columns.length).toBeGreaterThan(100);
  const texts: string[] = [];
  for (const { table_name, column_name } of columns) {
    const rows = await api.database.query<{ value: string | null; hex: string | null }>(
      `SELECT value, CASE WHEN value LIKE '\\\\x%' THEN substr(value, 3) END AS hex
       FROM (SELECT "${column_name}"::text AS value FROM "${table_name}") AS all_values`,
    );
    for (const { value, hex } of rows) {
      texts.push(value ?? '');
      if (hex !== null && /^([0-9a-f]{2})*$/.test(hex))
        texts.push(Buffer.from(hex, 'hex').toString('latin1'));
    }
  }
  const all = texts.join('\n');
  // The search sees what is there: the handle, and the request's record.
  expect(all).toContain([...gateway.handles.keys()][0]);
  for (const trace of traces()) expect(all).not.toContain(trace);
});

it('is in no key and no value of Redis', async () => {
  const redis = api.redis.connect();
  const dumps: string[] = [];
  for (const key of await redis.keys('*')) {
    dumps.push(key, (await redis.dumpBuffer(key))?.toString('latin1') ?? '');
  }
  for (const trace of traces()) expect(dumps.join('\n')).not.toContain(trace);
});

it('is in no line of the log and in no response', () => {
  const logged = api.logged.join('');
  expect(logged).toContain('the DNS gateway rejected the request (unauthorized)');
  const received = responses.map(({ text, headers }) => text + JSON.stringify(headers)).join('\n');
  for (const trace of traces()) {
    expect(logged).not.toContain(trace);
    expect(received).not.toContain(trace);
  }
});
