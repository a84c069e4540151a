import 'reflect-metadata';
import { type DocumentedExample, examplesIn, shapeOf } from '@certwright/testing';
import { asUser, keptDocument, RunningApi } from '../testing/running-api';
import type { ReceivedResponse } from '@certwright/testing';
import type { FormFields, Tenant } from '../testing/tenant';
import { forgeInvoice } from '../testing/forged-invoices';
import { activatePending } from '../instances/testing/bought';
import { reasons } from '../wire/reasons';
import { errorExamples } from '../wire/openapi/errors';

jest.setTimeout(60_000);

const documented = examplesIn(keptDocument);
const isError = ({ status }: DocumentedExample) => status !== null && status >= 400;
const requests = documented.filter(({ status }) => status === null);
const formType = 'application/x-www-form-urlencoded';

describe('examples of errors', () => {
  it('have the status of their reason, which is in the closed list', () => {
    for (const { operationId, name, status, value } of documented.filter(isError)) {
      const { reason } = value as { reason: keyof typeof reasons };
      expect([operationId, name, status]).toEqual([operationId, reason, reasons[reason].status]);
    }
  });

  it('are all used', () => {
    const used = new Set(documented.filter(isError).map(({ name }) => name));
    expect([...used].sort()).toEqual(Object.keys(errorExamples.components()).sort());
  });
});

describe('with the API running', () => {
  let api: RunningApi;
  let tenant: Tenant;
  beforeAll(async () => {
    api = await RunningApi.start();
  });
  beforeEach(async () => {
    tenant = await api.tenant('Full Access');
  });
  afterAll(() => api.stop());

  const cn = '/api/v2/certs/www.example.com';
  const pathOf = ({ path: at }: DocumentedExample) => `/api/v2${at.replace('{CN}', 'www.example.com')}`;
  const requestOf = (operationId: string) =>
    requests.find((each) => each.operationId === operationId && each.mediaType === 'application/json')?.value;
  const responseOf = (operationId: string) =>
    documented.find((each) => each.operationId === operationId && each.status === 200)?.value;
  const create = () => tenant.post(cn, requestOf('postCertsCN'));
  const members = (value: unknown) => Object.keys(value as object).sort();

  it.each(requests)(
    '$operationId succeeds with the example $name as $mediaType, as documented',
    async (example) => {
      const { operationId, name, mediaType, value } = example;
      if (operationId !== 'postCertsCN') await create();
      const at = pathOf(example);
      const response =
        mediaType === formType
          ? await tenant.postForm(at, value as FormFields)
          : await tenant.post(at, value);
      expect([response.status, response.json]).toEqual([200, expect.anything()]);
      const expected = members(responseOf(operationId));
      // Its own SANs take the place of the default one.
      expect(members(response.json)).toEqual(
        name === 'with_sans' ? expected.filter((member) => member !== 'default_san') : expected,
      );
    },
  );

  it.each([
    ['getCerts', '/api/v2/certs'],
    ['getCertsCN', cn],
    ['getCertsCNInstances', `${cn}/instances`],
    ['getPricing', '/api/v2/pricing?cn=www.example.com'],
    ['getProductsType', '/api/v2/products/dv?cn=www.example.com'],
    ['getProductsTypeApproval', '/api/v2/products/dv/approval?cn=www.example.com'],
    ['getConfigTemplates', '/api/v2/config_templates'],
    ['getConfigTemplatesName', '/api/v2/config_templates/nginx'],
    ['getAccount', '/api/v2/account'],
  ])('%s returns the members of its example', async (operationId, at) => {
    await create();
    await tenant.post(`${cn}/buy`);
    const { status, json } = await tenant.get(at);
    const example = responseOf(operationId) as Record<string, unknown>;
    // Nothing is charged in the sandbox.
    const expected = json.payment === null ? { ...example, payment: null } : example;
    expect([status, shapeOf(json)]).toEqual([200, shapeOf(expected)]);
  });

  it.each(['postCertsCNReissue', 'postCertsCNRedoApproval'])(
    '%s returns the members of its example',
    async (operationId) => {
      await create();
      await tenant.post(`${cn}/buy`);
      if (operationId === 'postCertsCNReissue') await activatePending(api, tenant, 'www.example.com');
      const action = operationId === 'postCertsCNReissue' ? 'reissue' : 'redo_approval';
      const { status, json } = await tenant.post(`${cn}/${action}`);
      expect([status, members(json)]).toEqual([200, members(responseOf(operationId))]);
    },
  );

  it('getApiCredentials returns the members of its example, to a user', async () => {
    const user = await asUser(api, tenant, 'user@example.com', 'a long password');
    const { status, json } = await user.get('/api/v2/api_credentials');
    expect([status, members(json)]).toEqual([200, members(responseOf('getApiCredentials'))]);
  });

  it('every documented member of a response appears in one', async () => {
    const own = { ...(requestOf('postCertsCN') as object), approval_method: 'http', tags: ['a'] };
    const sans = ['dns', 'http', 'email'].map((approval_method) => ({
      value: `${approval_method}.example.com`,
      approval_method,
      approver_email: 'admin@example.com',
    }));
    await tenant.post(cn, { ...own, sans });
    await tenant.post(`${cn}/buy`);
    const members = ['csr', 'crt', 'chain', 'root'];
    const ofInstances = members.flatMap((member) => [`current.${member}`, `pending.${member}`]);
    const statuses = ['dns_approval.status', 'http_approval.status', 'sans.dns_approval.status'];
    const expand = [...ofInstances, ...statuses, 'csr'].map((name) => `expand=${name}`).join('&');
    await tenant.get(`${cn}?${expand}`);
    await tenant.post(cn, { approval_method: 'dns', sans: null });
    await tenant.get(`${cn}?${expand}`);
    await tenant.post(cn, { approval_method: 'email', approver_email: 'admin@example.com' });
    await tenant.post(`${cn}/buy`);
    await api.database.query(
      `UPDATE issuance SET last_error = '{"code": "ca_rejected", "message": "no"}' WHERE account_id = $1`,
      [tenant.accountId],
    );
    const poll = `${cn}/instances/pubkey_hash:${(await tenant.get(cn)).json.pubkey_hash}?poll=0`;
    expect((await tenant.get(poll)).status).toBe(412);
    const { json } = await tenant.get(`${cn}/instances?${members.map((name) => `expand=${name}`).join('&')}`);
    expect(json.data).toHaveLength(2);
    await activatePending(api, tenant, 'www.example.com');
    await tenant.get(`${cn}?${expand}`);
    const number = await forgeInvoice(api, tenant, 1);
    await tenant.get(`/api/v2/invoices/${number}`);
    await tenant.get('/api/v2/invoices');
    await tenant.get('/api/v2/certs');
    await tenant.get('/api/v2/pricing?cn=www.example.com');
    await tenant.get('/api/v2/products/dv?cn=www.example.com');
    await tenant.get('/api/v2/products/dv/approval?cn=www.example.com');
    await tenant.get('/api/v2/config_templates');
    await tenant.get('/api/v2/config_templates/nginx?expand=template');
    await tenant.get('/api/v2/account');
    await tenant.get(`${cn}/instances/1`);
    await api.call('GET', '/api/v2/latest_client_version', { headers: { 'user-agent': 'SSLMate/1.10.0' } });
    await (
      await asUser(api, tenant, 'members@example.com', 'a long password')
    ).get('/api/v2/api_credentials');
    await tenant.post('/api/v2/utils/parse_crt', requestOf('postUtilsParseCrt'));
    await tenant.post(`${cn}/revoke`, requestOf('postCertsCNRevoke'));
    await tenant.get('/api/v2/certs?limit=0');
    // A sandbox charges nothing (see pricing.spec.ts), and no prober runs here (see installation-test.spec.ts).
    const elsewhere = /^(Payment|TestResult|getCertsCNTest 200)\./;
    expect(api.documented.absentMembers().filter((member) => !elsewhere.test(member))).toEqual([]);
  });

  const provoked: Readonly<Record<string, () => Promise<ReceivedResponse>>> = {
    bad_request: () => tenant.post(cn, '{'),
    bad_param: () => tenant.get('/api/v2/certs?limit=0'),
    bad_approval_method: () => tenant.post(cn, { ...first(), approval_method: 'fax' }),
    bad_country: () => tenant.post('/api/v2/account', { country: 'Britain' }),
    missing_param: () => tenant.post('/api/v2/utils/parse_crt', {}),
    bad_credentials: () => api.call('GET', cn, { headers: { authorization: `Bearer 1_${'a'.repeat(32)}` } }),
    unauthorized: async () => await (await api.tenant('Search Certificates')).get('/api/v2/certs'),
    no_such_cert: () => tenant.post(`${cn}/buy`),
    no_such_instance: async () => {
      await create();
      return await tenant.get(`${cn}/instances/1`);
    },
    no_such_pubkey_hash: async () => {
      await create();
      return await tenant.get(`${cn}/instances/pubkey_hash:${'0'.repeat(64)}`);
    },
    no_such_invoice: () => tenant.get('/api/v2/invoices/2026-000117'),
    not_found: () => tenant.get('/api/v2/latest_client_version'),
    inactive_cert: async () => {
      await create();
      return await tenant.post(`${cn}/reissue`);
    },
    no_pending_instance: async () => {
      await create();
      return await tenant.post(`${cn}/redo_approval`);
    },
    request_too_large: () => tenant.post(cn, { csr: 'x'.repeat(300_000) }),
    unsupported_media_type: () => tenant.post(cn, 'a', { 'content-type': 'text/plain' }),
    idempotency_key_reused: async () => {
      const key = { 'idempotency-key': 'k1' };
      await tenant.post(cn, first(), key);
      return await tenant.post(cn, {}, key);
    },
  };
  const first = () => requestOf('postCertsCN') as object;

  it.each(Object.keys(provoked))('the error %s is what the API returns', async (name) => {
    const response = await provoked[name]?.();
    const example = documented.find((each) => isError(each) && each.name === name);
    expect([response?.status, response?.json]).toEqual([example?.status, example?.value]);
  });

  /** Messages name what was sent; code and members are those of the example. */
  const alike: Readonly<Record<string, () => Promise<ReceivedResponse>>> = {
    bad_cn: () => tenant.get('/api/v2/certs/localhost'),
    bad_approver_email: () =>
      tenant.post(cn, { ...first(), approval_method: 'email', approver_email: 'me@example.com' }),
    bad_csr: () => tenant.post(cn, { ...first(), csr: 'none' }),
    bad_sans: () => tenant.post(cn, { ...first(), sans: 7 }),
    bad_tags: () => tenant.post(cn, { ...first(), tags: 7 }),
    bad_type: () => tenant.post(cn, { ...first(), type: 'ov' }),
    bad_certificate: () => tenant.post('/api/v2/utils/parse_crt', { crt: 'none' }),
    template_not_found: () => tenant.get('/api/v2/config_templates/iis'),
    already_pending: async () => {
      await create();
      await tenant.post(`${cn}/buy`);
      return await tenant.post(`${cn}/buy`);
    },
    already_imported: async () => {
      await create();
      await tenant.post(`${cn}/instances`, requestOf('postCertsCNInstances'));
      return await tenant.post(`${cn}/instances`, requestOf('postCertsCNInstances'));
    },
    imported_instance: async () => {
      await create();
      await tenant.post(`${cn}/instances`, requestOf('postCertsCNInstances'));
      return await tenant.post(`${cn}/reissue`);
    },
    not_ready: async () => {
      await create();
      const { json } = await tenant.post(`${cn}/buy`);
      return await tenant.get(`${cn}/instances/${json.id}?poll=0`);
    },
  };

  it.each(Object.keys(alike))('the error %s is like what the API returns', async (name) => {
    const response = await alike[name]?.();
    const example = documented.find((each) => isError(each) && each.name === name);
    const value = example?.value as { readonly reason: string; readonly param?: string };
    expect([response?.status, response?.json.reason, response?.json.param, members(response?.json)]).toEqual([
      example?.status,
      value.reason,
      value.param,
      members(value),
    ]);
  });
});
