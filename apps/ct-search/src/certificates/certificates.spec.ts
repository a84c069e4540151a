import { X509Certificate } from 'node:crypto';
import { nameOf } from '../testing/forged-certificate';
import { anIssuance, type ForgedIssuance, issuerNamed } from '../testing/forged-issuance';
import { RunningSearch } from '../testing/running-search';

jest.setTimeout(60_000);

let search: RunningSearch;
let certificate: ForgedIssuance;
let precertificate: ForgedIssuance;
let ids: string[];
beforeAll(async () => {
  search = await RunningSearch.start();
  certificate = anIssuance('example.com');
  precertificate = anIssuance('example.com', { precertificate: true });
  ids = await search.store(certificate, precertificate);
});
afterAll(async () => await search.stop());

it('GET /issuances/{id}.der returns the certificate', async () => {
  const response = await search.get(`/v1/issuances/${ids[0]}.der`);
  expect(response.bytes).toEqual(certificate.der);
  expect(response.headers).toMatchObject({
    'content-type': 'application/pkix-cert',
    'content-disposition': `attachment; filename="${ids[0]}.der"`,
    'access-control-allow-origin': '*',
    'cache-control': 'public, max-age=86400',
  });
});

it('GET /issuances/{id}.pem returns the same in PEM', async () => {
  const response = await search.get(`/v1/issuances/${ids[0]}.pem`);
  expect(response.headers['content-type']).toBe('application/pem-certificate-chain');
  expect(response.text).toBe(new X509Certificate(certificate.der).toString());
});

it('a precertificate is cached for minutes only, as its certificate may follow', async () => {
  const response = await search.get(`/v1/issuances/${ids[1]}.der`);
  expect(response.bytes).toEqual(precertificate.der);
  expect(response.headers['cache-control']).toBe('public, max-age=300');
});

describe('If-None-Match', () => {
  it.each(['der', 'pem'])('returns 304 for the cached %s', async (form) => {
    const at = `/v1/issuances/${ids[0]}.${form}`;
    const etag = String((await search.get(at)).headers['etag']);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await search.get(at, { 'if-none-match': known });
      expect([response.status, response.text, response.headers['etag']]).toEqual([304, '', etag]);
    }
    expect((await search.get(at, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('identifies the format and the certificate', async () => {
    const paths = [`${ids[0]}.der`, `${ids[0]}.pem`, `${ids[1]}.der`];
    const tags = await Promise.all(
      paths.map(async (path) => (await search.get(`/v1/issuances/${path}`)).headers['etag']),
    );
    expect(new Set(tags).size).toBe(3);
  });
});

it('HEAD returns the same headers', async () => {
  const [head, get] = await Promise.all(
    ['HEAD', 'GET'].map(async (method) => await search.call(method, `/v1/issuances/${ids[0]}.der`)),
  );
  expect(head?.bytes).toHaveLength(0);
  for (const name of ['etag', 'content-type', 'content-length'])
    expect(head?.headers[name]).toBe(get?.headers[name]);
});

describe('the page of an issuance', () => {
  const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

  it('is returned to browsers, which may run and load nothing', async () => {
    const { status, text, headers } = await search.get(`/v1/issuances/${ids[0]}`, browser);
    expect([status, headers['content-type'], headers.vary]).toEqual([
      200,
      'text/html; charset=utf-8',
      'Accept',
    ]);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(text).not.toMatch(/<script|javascript:/i);
    const { tbsSha256, certSha256, spkiSha256, notAfter } = certificate;
    const notAfterText = `${notAfter.toISOString().slice(0, 19)}Z`;
    for (const shown of [
      'example.com',
      tbsSha256,
      certSha256,
      spkiSha256,
      notAfterText,
      'Example Trust, Inc.',
    ])
      expect(text).toContain(shown);
    expect(text).toContain(`/v1/issuances/${ids[0]}.pem"`);
  });

  it('is JSON for all other clients', async () => {
    for (const accept of ['*/*', 'application/json', 'application/json, text/html'])
      expect((await search.get(`/v1/issuances/${ids[0]}`, { accept })).json).toMatchObject({ id: ids[0] });
    expect((await search.get('/v1/issuances/999999', browser)).json).toMatchObject({ code: 'not_found' });
  });

  it('escapes names and issuers, and links to none of them', async () => {
    const attack = `<img src=x onerror=alert(1)>"'`;
    const name = `${attack}.example.com`;
    const names = [name, ...Array.from({ length: 1_001 }, (_, nth) => `${nth}.example.com`)];
    const issuer = issuerNamed(nameOf(['O', `${attack}\u202e`], ['CN', '</style><script>']));
    const [id] = await search.store(anIssuance(names, { issuer }));
    const { text } = await search.get(`/v1/issuances/${id}`, browser);
    expect(text).not.toMatch(/<img|<\/style><script>|\u202e/);
    expect(text).toContain('&#39;\\u{202e}');
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;.example.com');
    expect(text).toContain('and 2 more');
    expect(text.match(/href="[^"]*"/g)).toHaveLength(1);
  });
});
