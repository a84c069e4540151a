import { certificateRequest, keyPair } from '../testing/certificate-request';
import { attachCertificate, RunningApi, type Tenant } from '../testing/running-api';

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });
const day = 86_400_000;

let api: RunningApi;
let tenant: Tenant;
let pubkeySha256: string;
let download: string;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant();
  const { json } = await tenant.post('/api/v3/orders', { name: 'mine', dns_names: ['example.com'], csr });
  pubkeySha256 = json.pubkey_sha256;
  download = new URL(json.current_cert_download).pathname;
});
afterAll(() => api.stop());

const attach = (change: Partial<Parameters<typeof attachCertificate>[3]> = {}) =>
  attachCertificate(api, tenant, 'mine', { dnsNames: ['example.com'], pubkeySha256, ...change });

const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64');

describe('GET /api/v3/orders/{ORDER_NAME}/certs/{ID}', () => {
  it('returns the certificate object', async () => {
    const notBefore = new Date('2026-01-02T03:04:05Z');
    const notAfter = new Date('2099-01-02T03:04:05Z');
    const id = await attach({ notBefore, notAfter });
    const response = await tenant.get(`/api/v3/orders/mine/certs/${id}`);

    expect(response.status).toBe(200);
    expect(response.json).toEqual({
      id,
      state: 'valid',
      current: true,
      dns_names: ['example.com'],
      expiration: '2099-01-02T03:04:05Z',
      not_before: '2026-01-02T03:04:05Z',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      key_type: 'ecdsa',
      pubkey_sha256: pubkeySha256,
    });
  });

  it('expands leaf, chain and root as DER in base64', async () => {
    const id = await attach();
    const { json } = await tenant.get(
      `/api/v3/orders/mine/certs/${id}?expand=leaf&expand=chain&expand=root&expand=x`,
    );
    expect(json).toMatchObject({ leaf: base64(`leaf ${id}`), chain: [base64('\x02')], root: base64('\x03') });
  });

  it('derives the state from the time', async () => {
    const past = { notBefore: new Date(Date.now() - 9 * day), isCurrent: false };
    const revoked = await attach({ ...past, revokedAt: new Date() });
    const expired = await attach({ ...past, notAfter: new Date(Date.now() - day) });
    const both = await attach({ ...past, notAfter: new Date(Date.now() - day), revokedAt: new Date() });
    const stateOf = async (id: number) => (await tenant.get(`/api/v3/orders/mine/certs/${id}`)).json.state;
    expect(await Promise.all([revoked, expired, both].map(stateOf))).toEqual([
      'revoked',
      'expired',
      'expired',
    ]);
  });

  it.each(['0', '-1', '1.0', '1e3', '0x10', '9007199254740992', '99999999999999999999', 'x', '%20', '1%00'])(
    'returns 4xx for the id %s',
    async (id) => {
      const { status } = await tenant.get(`/api/v3/orders/mine/certs/${id}`);
      expect([400, 404]).toContain(status);
    },
  );

  it('does not find a certificate of another order', async () => {
    const id = await attach();
    await tenant.post('/api/v3/orders', { name: 'other', dns_names: ['example.com'], csr });
    expect((await tenant.get(`/api/v3/orders/other/certs/${id}`)).status).toBe(404);
  });
});

describe('GET /api/v3/orders/{ORDER_NAME}/certs', () => {
  it('returns the certificates, newest first, page by page', async () => {
    const ids: number[] = [];
    for (let count = 0; count < 5; count += 1) ids.unshift(await attach({ isCurrent: count === 4 }));
    const seen: number[] = [];
    let path: string | undefined = '/api/v3/orders/mine/certs?limit=2&expand=leaf';
    while (path !== undefined) {
      const page = await tenant.get(path);
      for (const certificate of page.json) expect(certificate).toHaveProperty('leaf');
      seen.push(...page.json.map(({ id }: { id: number }) => id));
      path = /^<([^>]+)>; rel="next"$/.exec(String(page.headers.link ?? ''))?.[1];
    }
    expect(seen).toEqual(ids);
    expect((await tenant.get('/api/v3/orders/mine/certs?after=x')).status).toBe(400);
    expect((await tenant.get('/api/v3/orders/missing/certs')).status).toBe(404);
  });
});

describe('current_cert of an order', () => {
  it('is the current certificate, with the requested members', async () => {
    const id = await attach();
    const { json } = await tenant.get('/api/v3/orders/mine?expand=current_cert.leaf');
    expect(json.current_cert).toMatchObject({ id, current: true, leaf: base64(`leaf ${id}`) });
    expect(json.current_cert).not.toHaveProperty('chain');
  });

  it('is null once the certificate expired or was revoked', async () => {
    const id = await attach({
      notBefore: new Date(Date.now() - 9 * day),
      notAfter: new Date(Date.now() - day),
    });
    expect((await tenant.get('/api/v3/orders/mine?expand=current_cert')).json.current_cert).toBeNull();
    expect((await tenant.get(`/api/v3/orders/mine/certs/${id}`)).json.current).toBe(false);
  });
});

describe('GET /download/{token}', () => {
  it('needs no credentials, and returns 202 with an empty body while there is no current certificate', async () => {
    const response = await api.call('GET', download);
    expect(response).toMatchObject({ status: 202, text: '' });
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('returns the current certificate and its chain in PEM, without the root', async () => {
    const id = await attach();
    const response = await api.call('GET', download);
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'application/pem-certificate-chain',
      'cache-control': 'no-store',
    });
    const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${base64(text)}\n-----END CERTIFICATE-----\n`;
    expect(response.text).toBe(pem(`leaf ${id}`) + pem('\x02'));
  });

  it.each(['x', 'A'.repeat(27), 'A'.repeat(28), '%2e%2e', "'%20OR%201=1", '%F0%9F%98%80'])(
    'returns 404 for the token %s',
    async (token) => {
      expect(await api.call('GET', `/download/${token}`)).toMatchObject({
        status: 404,
        json: { code: 'not_found' },
      });
    },
  );
});

describe('GET /ca/{file}', () => {
  it('returns 404 until the CA has published it, then the DER or PEM', async () => {
    expect((await api.call('GET', '/ca/root.cer')).status).toBe(404);
    await api.database.query(
      `INSERT INTO ca_issuer (name, certificate, crl) VALUES ('root', 'root', NULL), ('intermediate', 'mid', 'list'),
         ('intermediate-2', 'next', NULL)`,
    );
    expect((await api.call('GET', '/ca/intermediate-2.cer')).text).toBe('next');
    expect((await api.call('GET', '/ca/intermediate-3.cer')).status).toBe(404);
    const root = await api.call('GET', '/ca/root.cer');
    expect(root).toMatchObject({
      status: 200,
      text: 'root',
      headers: { 'content-type': 'application/pkix-cert' },
    });
    const list = await api.call('GET', '/ca/intermediate.crl');
    expect(list).toMatchObject({
      status: 200,
      text: 'list',
      headers: { 'content-type': 'application/pkix-crl' },
    });
    expect((await api.call('GET', '/ca/intermediate.cer')).text).toBe('mid');
    expect((await api.call('GET', '/ca/root.pem')).text).toContain(`\n${base64('root')}\n`);
    expect((await api.call('GET', '/ca/root.crl')).status).toBe(404);
  });

  it.each(['intermediate.pem', 'ROOT.cer', 'intermediate-01.cer', '__proto__', '..%2froot.cer'])(
    'returns 404 for %s',
    async (file) => {
      expect((await api.call('GET', `/ca/${file}`)).status).toBe(404);
    },
  );
});
