import { X509Certificate } from 'node:crypto';
import { logIdentity } from '@certwright/pki';
import { RunningApi, type Tenant } from '../testing/running-api';
import {
  activatePending,
  chargesOf,
  createObject,
  csrFor,
  otherKeys,
  pathOf,
} from '../instances/testing/bought';
import { type ForgedAuthority, forgedRoot, inDays } from '../instances/testing/forged-authority';

jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;
let root: ForgedAuthority;
let intermediate: ForgedAuthority;
beforeAll(async () => {
  api = await RunningApi.start();
  root = forgedRoot('Elsewhere Root');
  intermediate = root.subordinate('Elsewhere CA');
});
beforeEach(async () => {
  tenant = await api.tenant();
  await createObject(tenant, cn);
});
afterAll(() => api.stop());

const cn = 'www.example.com';
const dnsNames = [cn, 'example.com'];
const importing = (crt: string, chain: unknown = '', query = '') =>
  tenant.post(`${pathOf(cn)}/instances${query}`, { crt, chain });
const rows = async () =>
  await api.database.query(`SELECT * FROM certificate WHERE account_id = $1`, [tenant.accountId]);

describe('POST /certs/{CN}/instances', () => {
  it('takes a certificate that was issued elsewhere, and it becomes the active one', async () => {
    const leaf = intermediate.issue({ dnsNames });
    const chain = [intermediate.pem, root.pem];
    const { status, json } = await importing(
      leaf.pem,
      chain,
      '?expand=crt&expand=chain&expand=root&expand=csr',
    );
    const x509 = new X509Certificate(leaf.pem);
    expect(status).toBe(200);
    expect(json).toEqual({
      id: expect.any(Number) as number,
      state: 'active',
      expiring: false,
      source: 'import',
      type: null,
      sans: null,
      pubkey_hash: leaf.pubkeyHash,
      sha1_fingerprint: x509.fingerprint.replaceAll(':', '').toLowerCase(),
      sha256_fingerprint: x509.fingerprint256.replaceAll(':', '').toLowerCase(),
      expiration: Math.floor(new Date(x509.validTo).getTime() / 1_000),
      invoice_id: null,
      approval_method: null,
      approval: [],
      last_error: null,
      crt: leaf.pem,
      chain: [intermediate.pem],
      root: root.pem,
    });
    const { crt, chain: _, root: __, ...plain } = json;
    expect(crt).toBe(leaf.pem);
    const object = (await tenant.get(`${pathOf(cn)}?expand=current`)).json;
    expect(object.current).toEqual(plain);
    expect((await tenant.get(`${pathOf(cn)}/instances/${json.id}`)).json).toEqual(plain);
    expect((await tenant.get(`${pathOf(cn)}/instances/pubkey_hash:${leaf.pubkeyHash}`)).json).toEqual(plain);
    expect((await tenant.get(`${pathOf(cn)}/instances`)).json.data).toEqual([plain]);
    expect((await rows())[0]).toMatchObject({
      imported: true,
      issuance_id: null,
      ca_reference: null,
      is_current: true,
      tbs_sha256: Buffer.from(logIdentity(x509.raw).tbsSha256, 'hex'),
      sct_at: null,
    });
  });

  it('accepts forms, and shows no root when it is unknown', async () => {
    const leaf = intermediate.issue({ dnsNames });
    const { status, json } = await tenant.postForm(`${pathOf(cn)}/instances?expand=root&expand=chain`, {
      crt: leaf.pem,
      chain: intermediate.pem,
    });
    expect([status, json.chain]).toEqual([200, [intermediate.pem]]);
    expect(json).not.toHaveProperty('root');
  });

  it('is not the active one while a better one is', async () => {
    await tenant.post(`${pathOf(cn)}/buy`);
    await activatePending(api, tenant, cn);
    const { json } = await importing(intermediate.issue({ dnsNames }).pem);
    expect(json.state).toBe('active');
    const object = (await tenant.get(`${pathOf(cn)}?expand=current`)).json;
    expect(object.current.source).toBe('service');
  });

  it('rejects an existing certificate, imported or issued here, and names the instance', async () => {
    const leaf = intermediate.issue({ dnsNames });
    const { id } = (await importing(leaf.pem)).json;
    const again = await importing(leaf.pem, intermediate.pem);
    expect([again.status, again.json]).toEqual([
      409,
      {
        reason: 'already_imported',
        message: `The certificate is already stored as instance ${id}.`,
        param: 'crt',
      },
    ]);
    const ours = intermediate.issue({ dnsNames });
    const bought = (await tenant.post(`${pathOf(cn)}/buy`)).json;
    await activatePending(api, tenant, cn, { leaf: ours.der });
    expect((await importing(ours.pem)).json.message).toContain(String(bought.id));
    expect(await rows()).toHaveLength(2);
  });

  it('accepts the same certificate again for another account, also one that was issued here', async () => {
    const ours = intermediate.issue({ dnsNames });
    await tenant.post(`${pathOf(cn)}/buy`);
    await activatePending(api, tenant, cn, { leaf: ours.der });
    const other = await api.tenant();
    await createObject(other, cn);
    const { status, json } = await other.post(`${pathOf(cn)}/instances`, { crt: ours.pem });
    expect([status, json.source]).toEqual([200, 'import']);
  });

  it('is one import when it is sent ten times at once, and repeatable with a key', async () => {
    const leaf = intermediate.issue({ dnsNames });
    const responses = await Promise.all(Array.from({ length: 10 }, () => importing(leaf.pem)));
    expect(responses.map(({ json }) => json.reason ?? 'taken').sort()).toEqual([
      ...Array(9).fill('already_imported'),
      'taken',
    ]);
    const another = { crt: intermediate.issue({ dnsNames }).pem };
    const key = { 'idempotency-key': 'import' };
    const first = await tenant.post(`${pathOf(cn)}/instances`, another, key);
    const second = await tenant.post(`${pathOf(cn)}/instances`, another, key);
    expect([second.status, second.text]).toEqual([200, first.text]);
  });

  it('needs an object, and changes nothing when it refuses', async () => {
    const leaf = intermediate.issue({ dnsNames });
    const { status, json } = await tenant.post(`${pathOf('example.com')}/instances`, { crt: leaf.pem });
    expect([status, json.reason]).toEqual([404, 'no_such_cert']);
    const old = intermediate.issue({ dnsNames, notBefore: inDays(-9), notAfter: inDays(-1) });
    const refused = await importing(old.pem);
    expect([refused.status, refused.json.reason, refused.json.param]).toEqual([
      400,
      'bad_certificate',
      'crt',
    ]);
    expect(await rows()).toEqual([]);
  });

  it('of a wildcard is for a wildcard object', async () => {
    const wildcard = '*.example.org';
    await createObject(tenant, wildcard, { csr: csrFor(wildcard) });
    const leaf = intermediate.issue({ dnsNames: ['example.org', '*.EXAMPLE.org'] });
    expect((await tenant.post(`${pathOf(wildcard)}/instances`, { crt: leaf.pem })).status).toBe(200);
  });

  it('does not keep from reissuing what was bought before, within the term', async () => {
    expect((await tenant.post(`${pathOf(cn)}/buy`)).status).toBe(200);
    await activatePending(api, tenant, cn);
    // With a new key on the object none is the one that is wanted, and the one that lasts longest is the active one.
    await tenant.post(pathOf(cn), { csr: csrFor(cn, otherKeys) });
    await importing(intermediate.issue({ dnsNames, notAfter: inDays(800) }).pem);
    expect((await tenant.get(`${pathOf(cn)}?expand=current`)).json.current.source).toBe('import');
    const { status, json } = await tenant.post(`${pathOf(cn)}/reissue`);
    expect([status, json.state]).toEqual([200, 'pending']);
    expect(await chargesOf(api, tenant)).toHaveLength(1);
  });

  it('cannot be reissued, revoked or renewed by a purchase', async () => {
    await importing(intermediate.issue({ dnsNames }).pem);
    const { status, json } = await tenant.post(`${pathOf(cn)}/reissue`);
    expect([status, json.reason]).toEqual([409, 'imported_instance']);
    expect((await tenant.post(`${pathOf(cn)}/buy`)).status).toBe(200);
  });
});

describe('POST /utils/parse_crt', () => {
  const parse = async (body: object) => (await tenant.post('/api/v2/utils/parse_crt', body)).json;

  it('returns what clients need to import a certificate, and stores nothing', async () => {
    const leaf = intermediate.issue({ dnsNames });
    const x509 = new X509Certificate(leaf.pem);
    const expected = {
      cn,
      sans: dnsNames.map((value) => ({ type: 'dns', value })),
      pubkey_hash: leaf.pubkeyHash,
      sha1_fingerprint: x509.fingerprint.replaceAll(':', '').toLowerCase(),
      sha256_fingerprint: x509.fingerprint256.replaceAll(':', '').toLowerCase(),
      expiration: Math.floor(new Date(x509.validTo).getTime() / 1_000),
      ev: false,
    };
    expect(await parse({ crt: leaf.pem })).toEqual(expected);
    expect((await tenant.postForm('/api/v2/utils/parse_crt', { crt: leaf.pem })).json).toEqual(expected);
    expect(await rows()).toEqual([]);
  });

  it.each([
    ['nothing', {}, 'missing_param'],
    ['no certificate', { crt: 'x' }, 'bad_certificate'],
    ['a CSR', { crt: csrFor(cn) }, 'bad_certificate'],
  ])('refuses %s', async (_what, body, reason) => {
    expect(await parse(body)).toMatchObject({ reason, param: 'crt' });
  });

  it('needs credentials', async () => {
    expect((await api.call('POST', '/api/v2/utils/parse_crt', { body: {} })).status).toBe(401);
  });
});
