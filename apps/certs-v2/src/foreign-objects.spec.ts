import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ReceivedResponse } from '@certwright/testing';
import { createObject, csrFor, keys, otherKeys, pathOf } from './instances/testing/bought';
import type { KeyPair } from './testing/certificate-request';
import { forgedRoot } from './instances/testing/forged-authority';
import { attachCertificate, openIssuance } from './testing/forged-instances';
import { forgeInvoice } from './testing/forged-invoices';
import { RunningApi, type Tenant } from './testing/running-api';

jest.setTimeout(60_000);

const { paths } = JSON.parse(readFileSync(path.join(__dirname, '../openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
};

/** Operations about an object of the account. */
const operations = Object.entries(paths)
  .filter(([of]) => /\{(CN|number)\}/.test(of))
  .flatMap(([of, methods]) => Object.keys(methods).map((method) => [method.toUpperCase(), of] as const));

interface Ids {
  readonly cn: string;
  readonly instance: string;
  readonly invoice: string;
}

let api: RunningApi;
let owner: Tenant;
let other: Tenant;
let theirs: Ids;
let own: Ids;
let absent: Ids;
/** A certificate that could be imported, PEM. */
let leaf: string;

/** An object with an active and a pending instance, and an invoice. */
async function objectsOf(tenant: Tenant, cn: string, of: KeyPair): Promise<Ids> {
  await createObject(tenant, cn, { csr: csrFor(cn, of) });
  const { instanceId } = await attachCertificate(api, tenant, cn);
  await openIssuance(api, tenant, cn);
  return { cn, instance: String(instanceId), invoice: await forgeInvoice(api, tenant, 1) };
}

beforeAll(async () => {
  api = await RunningApi.start();
  [owner, other] = [await api.tenant('Full Access'), await api.tenant('Full Access')];
  theirs = await objectsOf(owner, 'theirs.example.com', otherKeys);
  own = await objectsOf(other, 'own.example.com', keys);
  leaf = forgedRoot('Root').issue({ dnsNames: [theirs.cn] }).pem;
  absent = { cn: 'absent.example.com', instance: '12345678901', invoice: `${owner.accountId}-7` };
});
afterAll(() => api.stop());

const filled = (of: string, { cn, instance, invoice }: Ids): string =>
  `/api/v2${of.replace('{CN}', cn).replace('{INSTANCE_ID}', instance).replace('{number}', invoice)}`;

/** Everything that a caller sees; the common name that it sent is replaced. */
const visible = ({ status, headers, text }: ReceivedResponse, { cn, invoice }: Ids) => {
  const { date: _date, 'x-request-id': _id, 'content-length': _length, ...rest } = headers;
  return JSON.stringify({ status, rest, text }).replaceAll(cn, '<cn>').replaceAll(invoice, '<invoice>');
};

const rows = async () =>
  await api.database.query(
    `SELECT (SELECT jsonb_agg(to_jsonb(own)) FROM cert_object_v2 AS own WHERE account_id = $1) AS objects,
       (SELECT jsonb_agg(to_jsonb(own) ORDER BY id) FROM plan AS own WHERE account_id = $1) AS plans,
       (SELECT jsonb_agg(to_jsonb(own) ORDER BY id) FROM issuance AS own WHERE account_id = $1) AS issuances,
       (SELECT jsonb_agg(to_jsonb(own) ORDER BY id) FROM certificate AS own WHERE account_id = $1) AS certificates`,
    [owner.accountId],
  );

/** Creating an object of a name that the account does not have is no access to one of another account. */
const about = operations.filter(([method, of]) => !(method === 'POST' && of === '/certs/{CN}'));

describe.each(about)('%s %s', (method, of) => {
  const send = async (ids: Ids, query = '') =>
    await other.call(
      method,
      `${filled(of, ids)}${query}`,
      method === 'POST' ? { body: of.endsWith('/instances') ? { crt: leaf } : {} } : {},
    );

  it('returns the same for an object of another account as for one that never existed, and changes nothing', async () => {
    const before = await rows();
    for (const query of [
      '',
      '?expand=current.crt&expand=pending&expand=csr&poll=0',
      '?all=true&hostname=example.com',
    ]) {
      const [foreign, missing] = [await send(theirs, query), await send(absent, query)];
      expect(foreign.status).toBe(of === '/certs/{CN}' ? 200 : 404);
      if (foreign.status === 200) expect(foreign.json.exists).toBe(false);
      expect(visible(foreign, theirs)).toBe(visible(missing, absent));
    }
    expect(await rows()).toEqual(before);
  });

  it('sends the same statements for both', async () => {
    await send(absent);
    const statements = async (ids: Ids) => await api.statementsOf(async () => await send(ids));
    expect(await statements(theirs)).toEqual(await statements(absent));
  });
});

it('returns the same for an instance or key of another account under an own object', async () => {
  for (const [foreign, unknown] of [
    [theirs.instance, absent.instance],
    [
      `pubkey_hash:${(await owner.get(pathOf(theirs.cn))).json.pubkey_hash}`,
      `pubkey_hash:${'ab'.repeat(32)}`,
    ],
  ]) {
    const [one, two] = [
      await other.get(`${pathOf(own.cn)}/instances/${foreign}`),
      await other.get(`${pathOf(own.cn)}/instances/${unknown}`),
    ];
    expect(one.status).toBe(404);
    expect(visible(one, theirs)).toBe(visible(two, absent));
  }
  const [after, unknown] = [
    await other.get(`${pathOf(own.cn)}/instances?after=${theirs.instance}`),
    await other.get(`${pathOf(own.cn)}/instances?after=${absent.instance}`),
  ];
  expect(visible(after, theirs)).toBe(visible(unknown, absent));
});

it('creates an object of a name that another account has as one that no account has', async () => {
  const created = async (cn: string) =>
    await other.post(pathOf(cn), { csr: csrFor(cn), approval_method: 'dns' });
  const [foreign, fresh] = [await created(theirs.cn), await created('fresh.example.com')];
  expect(foreign.status).toBe(200);
  const members = ({ json }: ReceivedResponse) => Object.keys(json as object);
  expect(members(foreign)).toEqual(members(fresh));
  expect(foreign.json.current_download).not.toBe((await owner.get(pathOf(theirs.cn))).json.current_download);
});

it.each([
  ['its key is disabled', 'UPDATE api_key SET disabled_at = now() WHERE account_id = $1'],
  ['it is disabled', 'UPDATE account SET disabled_at = now() WHERE id = $1'],
])('refuses an account on every route when %s', async (_why, disable) => {
  const tenant = await api.tenant('Full Access');
  await api.database.query(disable, [tenant.accountId]);
  for (const [method, of] of operations) {
    const { status, json } = await tenant.call(
      method,
      filled(of, absent),
      method === 'POST' ? { body: {} } : {},
    );
    expect([method, of, status, json.reason]).toEqual([method, of, 403, 'unauthorized']);
  }
});
