import 'reflect-metadata';
import { agentBasePath } from '@certwright/agent-contract';
import { checkedEndpoint } from '@certwright/core-testing';
import { problemCodes } from '@certwright/errors';
import { renderErrorObject } from '@certwright/service';
import { type ReceivedResponse, type DocumentedExample, examplesIn, shapeOf } from '@certwright/testing';
import { FakeGateway } from '../testing/gateway';
import { enrolledAgent, managedOrder, reported } from '../testing/managed-orders';
import { attachCertificate, keptDocument, RunningApi, type Tenant } from '../testing/running-api';
import { errorExamples } from '../wire/documented-errors';

const documented = examplesIn(keptDocument);
/** Signed by agents, which the specs of agents simulate. */
const isOfAgents = ({ path: at }: Pick<DocumentedExample, 'path'>) => at.startsWith(`${agentBasePath}/`);
/** Names of the schemas that only agents see. */
const schemasOfAgents =
  /^(Agent(Cluster|Certificate|Task|Order|State|Chain)|Enrolled|AcceptedKeys|Member|Members|SealedKeys?|CsrAccepted)Schema\./;
const isError = ({ status }: DocumentedExample) => status !== null && status >= 400;

describe('examples of errors', () => {
  it('have the status of their code, which is in the closed list', () => {
    const statuses = new Map(problemCodes.map((code) => [code, statusOf(code)]));
    for (const { operationId, name, status, value } of documented.filter(isError))
      expect([operationId, name, status]).toEqual([
        operationId,
        name,
        statuses.get((value as { code: (typeof problemCodes)[number] }).code),
      ]);
  });

  it('are all used', () => {
    const used = new Set(documented.filter(isError).map(({ name }) => name));
    expect([...used].sort()).toEqual(Object.keys(errorExamples.components()).sort());
  });
});

const statusOf = (code: (typeof problemCodes)[number]): number =>
  renderErrorObject({ code, faults: [] } as unknown as Parameters<typeof renderErrorObject>[0]).status;

describe('with the API running', () => {
  let gateway: FakeGateway;
  let api: RunningApi;
  let tenant: Tenant;
  beforeAll(async () => {
    gateway = await FakeGateway.open();
    api = await RunningApi.start({ ...gateway.settings, PUBLIC_URL: 'https://api.example.net' });
  });
  beforeEach(async () => {
    tenant = await api.tenant('Full Access');
    await api.database.query(`INSERT INTO cluster (account_id, name) VALUES ($1, 'web')`, [tenant.accountId]);
  });
  afterAll(async () => {
    await api.stop();
    await gateway.close();
  });

  const orders = '/api/v3/orders';
  const webhooks = '/api/v3/account/webhooks';
  const integrations = '/api/v3/account/dns_integrations';
  const clusters = '/api/v3/clusters';

  const requestOf = (operationId: string, name: string): unknown =>
    documented.find((each) => each.operationId === operationId && each.status === null && each.name === name)
      ?.value;
  /** Makes what the path of an operation names. @returns the path */
  const pathOf: Readonly<Record<string, () => Promise<string>>> = {
    createOrder: () => Promise.resolve(orders),
    updateOrder: async () => `${orders}/${(await created(orders, 'createOrder', 'unmanaged')).name}`,
    revokeCertificate: async () => {
      const { name } = await created(orders, 'createOrder', 'unmanaged');
      const dnsNames = ['example.com', '*.example.com'];
      const id = await attachCertificate(api, tenant, name, { dnsNames, pubkeySha256: 'ab'.repeat(32) });
      return `${orders}/${name}/certs/${id}/revoke`;
    },
    createCluster: () => Promise.resolve(clusters),
    updateCluster: async () =>
      `${clusters}/${(await created(clusters, 'createCluster', 'of_one_host')).name}`,
    rekeyCluster: () => Promise.resolve(`${clusters}/web/rekey`),
    createEnrolment: () => Promise.resolve(`${clusters}/web/enrolments`),
    createWebhook: () => Promise.resolve(webhooks),
    updateWebhook: async () => `${webhooks}/${(await created(webhooks, 'createWebhook', 'plain')).id}`,
    createDnsIntegration: () => Promise.resolve(integrations),
  };
  const created = async (at: string, operationId: string, name: string) => {
    const response = await tenant.post(at, requestOf(operationId, name));
    expect(response.status).toBe(201);
    return response.json;
  };
  /** The documented response of a status, of which values are examples and members are not. */
  const membersOf = (operationId: string, status: number): string[] =>
    Object.keys(
      documented.find((each) => each.operationId === operationId && each.status === status)?.value as object,
    ).sort();

  it.each(documented.filter((each) => each.status === null && !isOfAgents(each)))(
    '$operationId succeeds with the example $name, as documented',
    async ({ operationId, value }) => {
      const at = await pathOf[operationId]?.();
      const response = await tenant.post(at ?? '', value);
      expect([operationId, response.status, response.json]).toEqual([
        operationId,
        operationId.startsWith('create') ? 201 : 200,
        expect.anything(),
      ]);
      expect(Object.keys(response.json).sort()).toEqual(membersOf(operationId, response.status));
    },
  );

  it.each<[string, string]>([
    ['getOrder', `${orders}/example.com`],
    ['listOrders', orders],
    ['getWebhook', webhooks],
    ['listWebhooks', webhooks],
    ['listDnsProviders', '/api/v3/account/dns_providers'],
    ['listDnsIntegrations', integrations],
    ['listDnsZones', integrations],
    ['listCertificates', `${orders}/example.com/certs`],
    ['getCertificate', `${orders}/example.com/certs`],
    ['listDeliveries', webhooks],
    ['listClusters', clusters],
    ['getCluster', `${clusters}/berlin`],
    ['listEnrolments', `${clusters}/berlin/enrolments`],
    ['listAgents', `${clusters}/berlin/agents`],
    ['getAgent', `${clusters}/berlin/agents`],
  ])('%s returns the members of its example', async (operationId, start) => {
    await created(orders, 'createOrder', 'unmanaged');
    const pubkeySha256 = 'ab'.repeat(32);
    const certificate = await attachCertificate(api, tenant, 'example.com', {
      dnsNames: ['example.com'],
      pubkeySha256,
    });
    const webhook = (await created(webhooks, 'createWebhook', 'plain')).id;
    await tenant.post(`${webhooks}/${webhook}/test`, undefined);
    const integration = (await created(integrations, 'createDnsIntegration', 'token')).id;
    await api.database.query(`DELETE FROM cluster WHERE account_id = $1 AND name = 'web'`, [
      tenant.accountId,
    ]);
    await created(clusters, 'createCluster', 'of_several_hosts');
    await tenant.post(`${clusters}/berlin/enrolments`, {});
    const agent = await enrolledAgent(api, tenant, 'berlin', { clockOffsetS: 0 });
    const rest: Readonly<Record<string, string>> = {
      getWebhook: `/${webhook}`,
      listDeliveries: `/${webhook}/deliveries`,
      listDnsZones: `/${integration}/zones`,
      getCertificate: `/${certificate}`,
      getAgent: `/${agent}`,
    };
    const { status, json } = await tenant.get(`${start}${rest[operationId] ?? ''}`);
    const example: any = // eslint-disable-line @typescript-eslint/no-explicit-any -- whatever is documented
      documented.find((each) => each.operationId === operationId && each.status === 200)?.value;
    // Nothing has been sent yet.
    const shown = operationId === 'listDeliveries' ? [{ ...json[0], attempts: example[0].attempts }] : json;
    expect([status, shapeOf(shown)]).toEqual([200, shapeOf(example)]);
  });

  it.each(['testWebhook', 'replayDelivery', 'rotateWebhookSecret', 'getDelivery'])(
    '%s returns the members of its example',
    async (operationId) => {
      const webhook = `${webhooks}/${(await created(webhooks, 'createWebhook', 'plain')).id}`;
      const tested = await tenant.post(`${webhook}/test`, undefined);
      const delivery = `${webhook}/deliveries/${tested.json.id}`;
      const responses: Readonly<Record<string, () => Promise<ReceivedResponse>>> = {
        testWebhook: () => Promise.resolve(tested),
        replayDelivery: () => tenant.post(`${delivery}/replay`, undefined),
        rotateWebhookSecret: () => tenant.post(`${webhook}/rotate_secret`, undefined),
        getDelivery: () => tenant.get(delivery),
      };
      const response = await responses[operationId]?.();
      expect(Object.keys(response?.json).sort()).toEqual(membersOf(operationId, response?.status ?? 0));
    },
  );

  it('every documented member of a response appears in one', async () => {
    await created(integrations, 'createDnsIntegration', 'token');
    const webhook = `${webhooks}/${(await created(webhooks, 'createWebhook', 'plain')).id}`;
    await tenant.post(`${webhook}/test`, undefined);
    const { name } = await created(orders, 'createOrder', 'approved_by_email');
    const dnsNames = ['www.example.com'];
    await attachCertificate(api, tenant, name, { dnsNames, pubkeySha256: 'ab'.repeat(32) });
    // As the workers and the notifier write them.
    await checkedEndpoint(api.database, tenant.accountId, 'www.example.com');
    for (const statement of [
      `UPDATE issuance SET last_error = '{"code": "ca_rejected", "message": "no"}' WHERE account_id = $1`,
      `WITH record AS (
         INSERT INTO approval_record (account_id, integration_id, dns_name, zone_name, target, state)
         SELECT $1, id, 'www.example.com', 'example.com', 'a.test', 'wanted' FROM dns_integration WHERE account_id = $1
         RETURNING id, account_id)
       INSERT INTO approval_record_use (record_id, plan_id)
       SELECT record.id, plan_id FROM record JOIN order_v3 USING (account_id)`,
      `INSERT INTO webhook_attempt (delivery_id, started_at, duration_ms, status)
       SELECT id, now(), 1, 204 FROM webhook_delivery WHERE account_id = $1`,
    ])
      await api.database.query(statement, [tenant.accountId]);
    const expanded = ['csr', 'issuance', 'leaf', 'chain', 'root'].map(
      (member) => `expand=${/csr|issuance/.test(member) ? member : `current_cert.${member}`}`,
    );
    await tenant.get(`${orders}/${name}?${expanded.join('&')}`);
    await tenant.get(`${integrations}?expand=zones`);
    await tenant.get('/api/v3/account/dns_providers');
    const [{ id }] = (await tenant.get(`${webhook}/deliveries`)).json;
    await tenant.get(`${webhook}/deliveries/${id}`);
    await tenant.get(webhooks);
    await created(clusters, 'createCluster', 'of_several_hosts');
    await tenant.get(clusters);
    await tenant.post(`${clusters}/web/rekey`, {});
    await tenant.post(`${clusters}/web/enrolments`, {});
    await tenant.get(`${clusters}/web/enrolments`);
    const agent = await enrolledAgent(api, tenant, 'web', { clockOffsetS: 0 });
    await tenant.get(`${clusters}/web/agents`);
    const served = [
      { address: '127.0.0.1:443', sha256: 'ab'.repeat(32), checked_at: '2026-11-20T12:00:00Z' },
    ];
    const planId = await managedOrder(api, tenant, 'web', 'managed');
    await reported(api, planId, { agent, state: 'serving', certificate: 'ab'.repeat(32), served });
    await tenant.get(`${orders}/managed?expand=installations`);
    await tenant.get(`${orders}?limit=0`);
    await tenant.post(`${orders}/${name}`, {}, { 'if-match': 'x' });

    const absent = api.documented.absentMembers().filter((member) => !schemasOfAgents.test(member));
    expect(absent).toEqual([]);
  });

  const unmanaged = () => requestOf('createOrder', 'unmanaged') as object;
  const provoked: Readonly<Record<string, () => Promise<ReceivedResponse>>> = {
    bad_request: () => tenant.post(orders, '{'),
    bad_order: () => tenant.post(orders, { ...unmanaged(), csr: rsa1024 }),
    bad_reason: async () => tenant.post((await pathOf['revokeCertificate']?.()) ?? '', { reason: 'none' }),
    bad_webhook: () => tenant.post(webhooks, { url: 'ftp://hooks.example.com/' }),
    unexpected_member: async () =>
      tenant.post(`${await pathOf['updateWebhook']?.()}/rotate_secret`, { colour: 'red' }),
    bad_cluster: () => tenant.post(clusters, { name: 'x', cluster_key: 'x' }),
    bad_enrolment: () => tenant.post(`${clusters}/web/enrolments`, { uses: 0 }),
    cluster_not_found: () => tenant.get(`${clusters}/nothing`),
    enrolment_not_found: () => tenant.delete(`${clusters}/web/enrolments/1`),
    agent_not_found: () => tenant.get(`${clusters}/web/agents/1`),
    cluster_exists: () => tenant.post(clusters, { name: 'web' }),
    cluster_not_empty: async () => {
      await tenant.post(orders, { dns_names: ['www.example.com'], cluster: 'web' });
      return await tenant.delete(`${clusters}/web`);
    },
    cluster_has_agents: async () => {
      await enrolledAgent(api, tenant, 'web');
      return await tenant.post(`${clusters}/web`, { cluster_key: 'A'.repeat(43) });
    },
    cluster_mismatch: () => tenant.post(`${clusters}/web`, {}, { 'if-match': '"x"' }),
    bad_query: () => tenant.get(`${orders}?limit=0`),
    invalid_value: () => tenant.post(orders, unmanaged(), { 'idempotency-key': 'a b' }),
    bad_credentials: () =>
      api.call('GET', orders, { headers: { authorization: `Bearer 1_${'a'.repeat(32)}` } }),
    unauthorized: async () => await (await api.tenant('Search Certificates')).get(orders),
    disabled_credentials: async () => {
      const other = await api.tenant();
      await api.database.query(`UPDATE api_key SET disabled_at = now() WHERE account_id = $1`, [
        other.accountId,
      ]);
      return await other.get(orders);
    },
    not_found: () => api.call('GET', '/api/v3/nothing'),
    order_not_found: () => tenant.get(`${orders}/nothing`),
    certificate_not_found: async () => {
      await created(orders, 'createOrder', 'unmanaged');
      return await tenant.get(`${orders}/example.com/certs/1`);
    },
    webhook_not_found: () => tenant.get(`${webhooks}/1`),
    delivery_not_found: async () => await tenant.get(`${await pathOf['updateWebhook']?.()}/deliveries/msg_1`),
    integration_not_found: () => tenant.get(`${integrations}/1`),
    already_exists: async () => {
      await created(orders, 'createOrder', 'unmanaged');
      return await tenant.post(orders, unmanaged());
    },
    nothing_sent: async () => {
      const webhook = (await pathOf['updateWebhook']?.()) ?? '';
      await tenant.post(webhook, { enabled: false });
      return await tenant.post(`${webhook}/test`, undefined);
    },
    revision_mismatch: async () => {
      const { name } = await created(orders, 'createOrder', 'unmanaged');
      for (const muted of [true, false, true]) await tenant.post(`${orders}/${name}`, { muted });
      return await tenant.post(`${orders}/${name}`, { muted: false }, { 'if-match': '"3"' });
    },
    request_too_large: () => tenant.post(orders, { name: 'x'.repeat(300_000) }),
    unsupported_media_type: () => tenant.post(orders, 'a=b', { 'content-type': 'text/plain' }),
    idempotency_key_reused: async () => {
      const key = { 'idempotency-key': 'k1' };
      await tenant.post(orders, unmanaged(), key);
      return await tenant.post(orders, {}, key);
    },
  };

  it.each(Object.keys(provoked))('the error %s is what the API returns', async (name) => {
    const response = await provoked[name]?.();
    const example = documented.find((each) => isError(each) && each.name === name);
    expect(response).toMatchObject({ status: example?.status });
    expect(response?.json).toEqual(example?.value);
  });
});

/** PKCS #10 for the names of the example, with an RSA key of 1024 bits. */
const rsa1024 =
  'MIIBjTCB9wIBADAWMRQwEgYDVQQDDAtleGFtcGxlLmNvbTCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEApC8so+oNVDN+Q1bpAqSZbQP8/04Z6FSw2eKiffFFkOkPAGzodr2VPp7NXpndnPAe10BDpZIG7XQhKeFIhLhhu06Qsxx9uPpFwJFALzaERblVJW+0QP8DX9tcsl0mtUHf1IuYd4L+ZkFMYCtr0qH6i06uxAU3ozsB67h6+jdyoxECAwEAAaA4MDYGCSqGSIb3DQEJDjEpMCcwJQYDVR0RBB4wHIILZXhhbXBsZS5jb22CDSouZXhhbXBsZS5jb20wDQYJKoZIhvcNAQELBQADgYEAGbMKMJoPj5ySwVwEzPFkzRkXh98gkbv/wrxPuWzf7bFUsVs2yxwb1PvgqtZKaPZ0/Y6BcSjEVqgKl2a+FoZPuFEnX6Et1bkd/fR93JAKA314lB28UA6vZcdSmHe9Gkqo+pXYiCMIm5fnVELitSt6dKyAZFnN3kWcXJ8qHR9U584=';
