import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { agentId, agentPaths } from '@certwright/agent-contract';
import type { ReceivedResponse } from '@certwright/testing';
import { certificateRequest, keyPair } from './testing/certificate-request';
import { FakeGateway } from './testing/gateway';
import { attachCertificate, RunningApi, type Tenant } from './testing/running-api';
import {
  installationOf,
  makeKey,
  randomHash,
  SpecAgent,
  type SpecCluster,
  specCluster,
} from './testing/spec-agent';

jest.setTimeout(60_000);

type Parameters = Readonly<Record<string, string>>;

const { paths } = JSON.parse(readFileSync(path.join(__dirname, '../openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
};

/** Operations about one object, except those without authentication and those of agents. */
const operations = Object.entries(paths)
  .filter(([of]) => of.includes('{') && !of.startsWith('/api/v3/agent/') && of.startsWith('/api/'))
  .flatMap(([of, methods]) => Object.keys(methods).map((method) => [method.toUpperCase(), of] as const));

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });
const webhooks = '/api/v3/account/webhooks';
const integrations = '/api/v3/account/dns_integrations';
const deliveryId = () => `msg_${randomBytes(20).toString('base64url')}`;

let gateway: FakeGateway;
let api: RunningApi;
let owner: Tenant;
let other: Tenant;
/** Of the owner. */
let theirs: Parameters;
/** Of the other account. */
let own: Parameters;

/** One object of each kind. @returns their ids, as the paths name them */
async function objectsOf(tenant: Tenant, name: string): Promise<Parameters> {
  const { json: order } = await tenant.post('/api/v3/orders', { name, dns_names: ['example.com'], csr });
  const certificate = await attachCertificate(api, tenant, name, {
    dnsNames: ['example.com'],
    pubkeySha256: order.pubkey_sha256,
  });
  const cluster = await specCluster(api, tenant, name);
  const agent = await SpecAgent.enrolled(api, cluster);
  const enrolment = await tenant.post(`/api/v3/clusters/${name}/enrolments`, {});
  const webhook = (await tenant.post(webhooks, { url: 'https://hooks.example.com/' })).json.id;
  const delivery = await tenant.post(`${webhooks}/${webhook}/test`, undefined);
  const credentials = { type: 'bearer', token: 't' };
  const integration = await tenant.post(integrations, { provider: 'desec', description: '', credentials });
  return {
    ...{ name, certificate: String(certificate), agent: agent.id, enrolment: String(enrolment.json.id) },
    ...{ webhook: String(webhook), delivery: delivery.json.id, integration: String(integration.json.id) },
  };
}

/** An object of each kind that never existed, with ids of the same form. */
const absent = (): Parameters => ({
  ...{
    name: 'absent',
    certificate: '12345678901',
    agent: agentId(randomBytes(32)),
    enrolment: '12345678902',
  },
  ...{ webhook: '12345678903', delivery: deliveryId(), integration: '12345678904' },
});

const kindOfId = (of: string): string => {
  const kinds = { certs: 'certificate', agents: 'agent', enrolments: 'enrolment', webhooks: 'webhook' };
  const kind = Object.entries(kinds).find(([folder]) => of.includes(`/${folder}/{id}`));
  return kind?.[1] ?? 'integration';
};

const filled = (of: string, values: Parameters): string =>
  of
    .replace('{name}', values.name ?? '')
    .replace('{id}', values[kindOfId(of)] ?? '')
    .replace('{delivery_id}', values.delivery ?? '');

/** Everything that a caller sees; what it sent itself is replaced. */
const visible = ({ status, headers, text }: ReceivedResponse, sent: Parameters) => {
  const { date: _date, 'x-request-id': _id, ...rest } = headers;
  const shown = JSON.stringify({ status, rest, text });
  return Object.entries(sent).reduce((all, [kind, value]) => all.replaceAll(value, `<${kind}>`), shown);
};

const rows = async () =>
  await api.database.query(
    `SELECT (SELECT jsonb_agg(to_jsonb(plan) ORDER BY id) FROM plan WHERE account_id = $1) AS plans,
       (SELECT jsonb_agg(to_jsonb(order_v3)) FROM order_v3 WHERE account_id = $1) AS orders,
       (SELECT jsonb_agg(to_jsonb(certificate)) FROM certificate WHERE account_id = $1) AS certificates,
       (SELECT jsonb_agg(to_jsonb(cluster)) FROM cluster WHERE account_id = $1) AS clusters,
       (SELECT jsonb_agg(to_jsonb(agent) - 'last_seen_at' ORDER BY id) FROM agent WHERE account_id = $1) AS agents,
       (SELECT jsonb_agg(to_jsonb(own) ORDER BY id) FROM cluster_enrolment AS own WHERE account_id = $1) AS enrolments,
       (SELECT jsonb_agg(to_jsonb(own)) FROM webhook_endpoint AS own WHERE account_id = $1) AS webhooks,
       (SELECT jsonb_agg(to_jsonb(own)) FROM webhook_delivery AS own WHERE account_id = $1) AS deliveries,
       (SELECT jsonb_agg(to_jsonb(own)) FROM dns_integration AS own WHERE account_id = $1) AS integrations`,
    [owner.accountId],
  );

beforeAll(async () => {
  gateway = await FakeGateway.open();
  api = await RunningApi.start(gateway.settings);
  [owner, other] = [await api.tenant('Full Access'), await api.tenant('Full Access')];
  theirs = await objectsOf(owner, 'theirs');
  own = await objectsOf(other, 'own');
});
afterAll(async () => {
  await api.stop();
  await gateway.close();
});

describe.each(operations)('%s %s', (method, of) => {
  const send = async (values: Parameters, query = '') =>
    await other.call(method, `${filled(of, values)}${query}`, {
      ...(method === 'POST' ? { body: {} } : {}),
      headers: of.includes('dns_integrations') ? {} : { 'idempotency-key': randomHash() },
    });

  it('returns the same for an object of another account as for one that never existed, and changes nothing', async () => {
    const before = await rows();
    const unknown = absent();
    for (const query of [
      '',
      '?expand=current_cert.leaf&expand=issuance&expand=csr&expand=zones&expand=installations',
    ]) {
      const [foreign, missing] = [await send(theirs, query), await send(unknown, query)];
      expect(foreign.status).toBe(404);
      expect(visible(foreign, theirs)).toBe(visible(missing, unknown));
    }
    expect(await rows()).toEqual(before);
  });

  it('sends the same statements for both', async () => {
    await send(absent());
    const statements = async (values: Parameters) => await api.statementsOf(async () => await send(values));
    expect(await statements(theirs)).toEqual(await statements(absent()));
  });

  it('returns the same when only the last part of the path is of another account', async () => {
    const last = /\{(\w+)\}[^{]*$/.exec(of)?.[1] ?? '';
    const kind = last === 'id' ? kindOfId(of) : last === 'delivery_id' ? 'delivery' : 'name';
    const unknown = { ...own, [kind]: absent()[kind] ?? '' };
    const mixed = { ...own, [kind]: theirs[kind] ?? '' };
    const before = await rows();
    const [foreign, missing] = [await send(mixed), await send(unknown)];
    expect(foreign.status).toBe(404);
    expect(visible(foreign, mixed)).toBe(visible(missing, unknown));
    expect(await rows()).toEqual(before);
  });
});

it('shows nothing of another account behind one of its cursors', async () => {
  for (const [of, theirCursor, unknown] of [
    ['/api/v3/orders/own/certs', theirs.certificate, absent().certificate],
    ['/api/v3/clusters/own/agents', theirs.agent, absent().agent],
    ['/api/v3/clusters/own/enrolments', theirs.enrolment, absent().enrolment],
    [`${webhooks}/${own.webhook}/deliveries`, theirs.delivery, absent().delivery],
  ]) {
    const [foreign, missing] = [
      await other.get(`${of}?after=${theirCursor}`),
      await other.get(`${of}?after=${unknown}`),
    ];
    // Some lists are by id: what is after the cursor depends on the id, and not on whose it is.
    expect([foreign.status, missing.status]).toEqual([200, 200]);
    for (const { json } of [foreign, missing])
      for (const { id } of json) expect(Object.values(own)).toContain(String(id));
  }
});

it('carries out the request of an account although another one used its Idempotency-Key', async () => {
  const headers = { 'idempotency-key': randomHash() };
  const create = async (tenant: Tenant) =>
    await tenant.post('/api/v3/clusters', { name: 'repeated' }, headers);
  const [first, second] = [await create(owner), await create(other)];
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.headers).not.toHaveProperty('idempotency-replayed');
});

describe('an agent', () => {
  let mine: SpecCluster;
  let agent: SpecAgent;
  let task: string;
  let theirKey: string;
  beforeAll(async () => {
    const theirCluster = await specCluster(api, owner, 'shared');
    await owner.post('/api/v3/orders', { name: 'managed', dns_names: ['example.com'], cluster: 'shared' });
    const theirAgent = await SpecAgent.enrolled(api, theirCluster);
    const { id, order } = await theirAgent.task('managed');
    const key = makeKey(order);
    [task, theirKey] = [id, key.spkiSha256];
    expect((await theirAgent.submit('managed', id, key)).status).toBe(200);
    mine = await specCluster(api, other, 'shared');
    agent = await SpecAgent.enrolled(api, mine);
  });

  it('gets the same responses for orders, keys, tasks and certificates of another account as for unknown ones', async () => {
    const [{ sha256 }] = (await api.database.query(
      `SELECT encode(sha256, 'hex') AS sha256 FROM certificate WHERE account_id = $1`,
      [owner.accountId],
    )) as [{ sha256: string }];
    const seen = { dns_names: ['example.com'], key_type: 'ecdsa' as const };
    const probes: ((name: string, spki: string, cert: string, id: string) => Promise<ReceivedResponse>)[] = [
      async (_name, _spki, cert) => await agent.get(agentPaths.certificate(cert)),
      async (name, spki) => await agent.get(agentPaths.keys(name, spki)),
      async (name, spki) => await agent.post(agentPaths.keys(name, spki), { keys: [] }),
      async (name, _spki, _cert, id) => await agent.submit(name, id, makeKey(seen)),
      async (name) => await agent.report([installationOf(name, 'serving', null)]),
      async (name) => await agent.report([], { without_points: [name] }),
    ];
    for (const probe of probes) {
      const [foreign, missing] = [
        await probe('managed', theirKey, sha256, task),
        await probe('absent', randomHash(), randomHash(), '12345'),
      ];
      expect([400, 404]).toContain(foreign.status);
      expect(visible(foreign, { name: 'managed' })).toBe(visible(missing, { name: 'absent' }));
    }
  });

  it('does not see what changes in a cluster of the same name of another account', async () => {
    const state = await agent.state(0);
    expect(state?.orders ?? []).toEqual([]);
    expect(
      (await agent.get(agentPaths.members)).json.members.map((each: { agent_id: string }) => each.agent_id),
    ).toEqual([agent.id]);
  });
});
