import 'reflect-metadata';
import { checkedEndpoint } from '@certwright/core-testing';
import {
  type ReceivedResponse,
  describeDocument,
  describeServedDocumentation,
  type DocumentedExample,
  eventually,
  examplesIn,
  shapeOf,
} from '@certwright/testing';
import { addFinding } from '../testing/findings';
import { addIssuance, type IndexedIssuance } from '../testing/indexed-issuance';
import { keptDocument, permission, RunningApi, type Tenant } from '../testing/running-api';
import { errorExamples } from '../wire/documented-errors';
import { openApiDocument } from './openapi-document';

const documented = examplesIn(keptDocument);
const isError = ({ status }: DocumentedExample) => status !== null && status >= 400;
const root = '/api/v3/monitoring';

describeDocument(keptDocument, openApiDocument);

it('uses every example of an error', () => {
  const used = new Set(documented.filter(isError).map(({ name }) => name));
  // Of addresses that are not in the document.
  expect([...used, 'not_found'].sort()).toEqual(Object.keys(errorExamples.components()).sort());
});

describe('with the API running', () => {
  let api: RunningApi;
  let tenant: Tenant;
  let indexed: IndexedIssuance;
  beforeAll(async () => {
    api = await RunningApi.startWithIndex();
    indexed = await addIssuance(api.database, 'www.example.com');
    // A log that lags.
    await api.database.query(
      `INSERT INTO ct_log (description, operator, kind, url, key_der, mmd_s, list_state, enabled, log_id, head_at, entry_at)
       VALUES ('', '', 'static', '', '', 60, 'usable', true, sha256(''), now() - interval '1 hour', now())`,
    );
    // Reports of logs are kept for a second.
    const member = await api.tenant(permission);
    await eventually(async () => expect((await member.get(`${root}/status`)).json.logs).toHaveLength(1));
  });
  beforeEach(async () => {
    tenant = await api.tenant(permission);
  });
  afterAll(() => api.stop());

  describeServedDocumentation((at) => api.call('GET', at), {
    root,
    kept: keptDocument,
    mediaType: 'application/json; charset=utf-8',
    about: {
      name: 'Certwright: monitoring',
      version: '3',
      description:
        'States which domains are monitored, which keys and certificates are known, and which certificates were found.',
      status_url: '/readyz',
    },
  });

  const pathOf = (template: string, digest: string) =>
    template
      .replace('{name}', '.example.com')
      .replace('{tbs_sha256}', digest)
      .replace('{dns_name}', 'www.example.com');

  it.each(documented.filter(({ status }) => status === null))(
    '$operationId succeeds with the example $name of type $mediaType',
    async ({ operationId, path: template, mediaType, value }) => {
      const body = mediaType === 'application/json' ? value : String(value);
      const digest = await indexedFinding();
      if (operationId === 'changeEndpoint')
        await checkedEndpoint(api.database, tenant.accountId, 'www.example.com');
      const answer = await tenant.post(pathOf(template, digest), body, { 'content-type': mediaType });
      expect(answer.status).toBe(operationId.startsWith('change') ? 200 : 201);
      const example = documented.find(
        (each) => each.operationId === operationId && each.status === answer.status,
      );
      expect(shapeOf(answer.json)).toEqual(shapeOf(example?.value));
    },
  );

  const indexedFinding = async () => {
    const { tbsSha256, position } = indexed;
    return await addFinding(api.database, tenant.accountId, undefined, { tbs_sha256: tbsSha256, position });
  };

  /** Of .example.com. */
  const addBackfill = async () =>
    await api.database.query(
      `INSERT INTO monitoring_backfill (change_id, account_id, name, until_position)
       SELECT max(id), $1, '.example.com', 9 FROM monitoring_change WHERE account_id = $1`,
      [tenant.accountId],
    );

  it.each(documented.filter(({ method, status }) => method === 'GET' && status === 200))(
    '$operationId returns the members of its example',
    async ({ operationId, path: template, value }) => {
      await tenant.post(`${root}/monitored_domains/.example.com`, {});
      await tenant.post(`${root}/settings`, { authorized_cas: ['letsencrypt.org'] });
      await tenant.post(`${root}/known_certs`, { tbs_sha256: 'ab'.repeat(32) });
      await tenant.post(`${root}/known_keys`, { pubkey_sha256: 'ab'.repeat(32), dns_names: ['example.com'] });
      await checkedEndpoint(api.database, tenant.accountId, 'www.example.com');
      await addBackfill();
      const digest = await indexedFinding();
      const query = operationId === 'getMonitoredDomain' ? '?expand=status' : '';
      const { status, json } = await tenant.get(pathOf(template, digest) + query);
      expect([status, shapeOf(json)]).toEqual([200, shapeOf(value)]);
    },
  );

  const domains = `${root}/monitored_domains`;
  const pem = { 'content-type': 'application/x-pem-file' };
  const provoked: Readonly<Record<string, () => Promise<ReceivedResponse>>> = {
    bad_request: () => tenant.post(`${domains}/example.com`, '{'),
    bad_query: () => tenant.get(`${root}/known_keys?limit=0`),
    bad_credentials: () =>
      api.call('GET', domains, { headers: { authorization: `Bearer 1_${'a'.repeat(32)}` } }),
    unauthorized: async () => await (await api.tenant('Search Certificates')).get(domains),
    disabled_credentials: async () => {
      await api.database.query(`UPDATE api_key SET disabled_at = now() WHERE account_id = $1`, [
        tenant.accountId,
      ]);
      return await tenant.get(domains);
    },
    not_found: () => api.call('GET', `${root}/nothing`),
    bad_name: () => tenant.get(`${domains}/*.example.com`),
    not_public: () => tenant.post(`${domains}/.co.uk`, {}),
    bad_domain: () => tenant.post(`${domains}/example.com`, { enabled: 1 }),
    bad_certificate: () => tenant.post(`${root}/known_certs`, 'x', pem),
    bad_settings: () => tenant.post(`${root}/settings`, { alert_delay_minutes: 61 }),
    domain_not_found: () => tenant.get(`${domains}/example.com`),
    key_not_found: () => tenant.delete(`${root}/known_keys/1`),
    certificate_not_found: () => tenant.delete(`${root}/known_certs/1`),
    finding_not_found: () => tenant.get(`${root}/certificates/${'ab'.repeat(32)}`),
    bad_acknowledgment: async () =>
      await tenant.post(`${root}/certificates/${'ab'.repeat(32)}`, { acknowledged: 1 }),
    nothing_to_acknowledge: async () => {
      const special = { state: 'known', reason: 'certificate' };
      const digest = await addFinding(api.database, tenant.accountId, undefined, special);
      return await tenant.post(`${root}/certificates/${digest}`, { acknowledged: true });
    },
    key_not_authorizable: async () => {
      const digest = await addFinding(api.database, tenant.accountId, undefined, { source: 'test' });
      return await tenant.post(`${root}/certificates/${digest}`, { authorize_key: true });
    },
    endpoint_not_found: () => tenant.get(`${root}/endpoints/example.com`),
    bad_endpoint: () => tenant.post(`${root}/endpoints/example.com`, { muted: 1 }),
    method_not_allowed: () => tenant.post(`${domains}/.`, {}),
    request_too_large: () => tenant.post(`${root}/known_keys`, 'x'.repeat(300_000), pem),
    unsupported_media_type: () => tenant.post(`${root}/settings`, 'a=b', pem),
  };

  it.each(Object.keys(provoked))('the error %s is what the API returns', async (name) => {
    const answer = await provoked[name]?.();
    const components = errorExamples.components();
    expect(answer?.json).toEqual(components[name]?.value);
    const example = documented.find((each) => isError(each) && each.name === name);
    if (example !== undefined) expect(answer?.status).toBe(example.status);
  });
});
