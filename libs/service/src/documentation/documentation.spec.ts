import { type SampleApi, startSampleApi } from '../testing/sample-api';

const info = { title: 'Sample <API>', version: '1', description: 'Shows & tells.' };
const document = { openapi: '3.1.0', info, paths: {} };
const start = (publicUrl?: string) =>
  startSampleApi({
    documentation: {
      path: '/v1',
      ...(publicUrl === undefined ? {} : { publicUrl }),
      statusPath: '/readyz',
      document: () => document,
    },
  });
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

let api: SampleApi;
beforeAll(async () => {
  api = await start();
});
afterAll(() => api.app.close());

const get = (path: string, accept: string, method = 'GET', headers: Record<string, string> = {}) =>
  fetch(`${api.origin}${path}`, { method, headers: { accept, ...headers } });

describe.each(['/', '/v1', '/v1/'])('GET %s', (root) => {
  it('returns JSON to a program', async () => {
    const response = await get(root, '*/*');
    expect([response.status, response.headers.get('vary')]).toEqual([200, 'Accept']);
    expect(await response.json()).toEqual({
      name: info.title,
      version: info.version,
      description: info.description,
      documentation_url: '/v1/docs',
      openapi_url: '/v1/openapi.json',
      status_url: '/readyz',
    });
  });

  it('returns a page to a browser', async () => {
    const response = await get(root, browser);
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      vary: 'Accept',
    });
    const policy = response.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(page).toContain('<h1>Sample &lt;API&gt;</h1>');
    expect(page).toContain('Shows &amp; tells.');
    const links = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => String(link));
    expect(links).toEqual(['/v1/docs/favicon-32x32.png', '/v1/docs', '/v1/openapi.json', '/readyz']);
    for (const link of links) expect((await get(link, browser)).status).toBe(200);
  });

  it('returns the same headers for HEAD, without a body', async () => {
    for (const accept of [browser, '*/*']) {
      const [got, head] = [await get(root, accept), await get(root, accept, 'HEAD')];
      for (const name of ['content-type', 'content-length', 'vary', 'content-security-policy'])
        expect([name, head.headers.get(name)]).toEqual([name, got.headers.get(name)]);
      expect([head.status, await head.text()]).toEqual([200, '']);
    }
  });

  it('returns 405 with Allow for other methods', async () => {
    const response = await get(root, '*/*', 'POST');
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});

it('puts the path of the public URL in front of every link', async () => {
  const behindPrefix = await start('https://example.com/certs');
  try {
    const root = await fetch(behindPrefix.origin);
    expect(await root.json()).toMatchObject({
      documentation_url: '/certs/v1/docs',
      openapi_url: '/certs/v1/openapi.json',
      status_url: '/certs/readyz',
    });
    const served = await (await fetch(`${behindPrefix.origin}/v1/openapi.json`)).json();
    expect(served).toMatchObject({ info, servers: [{ url: '/certs' }] });
    const page = await (await fetch(`${behindPrefix.origin}/v1/docs`)).text();
    expect(page).toContain('src="/certs/v1/docs/swagger-ui-bundle.js"');
    const script = await (await fetch(`${behindPrefix.origin}/v1/docs/start.js`)).text();
    expect(script).toContain('"/certs/v1/openapi.json"');
  } finally {
    await behindPrefix.app.close();
  }
});

it('serves the document, Swagger UI, and no other file of its package', async () => {
  for (const path of ['/v1/openapi.json', '/v1/docs/openapi.json'])
    expect(await (await get(path, '*/*')).json()).toEqual(document);
  for (const [file, type] of [
    ['swagger-ui.css', 'text/css; charset=utf-8'],
    ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['favicon-32x32.png', 'image/png'],
  ]) {
    const response = await get(`/v1/docs/${file}`, '*/*');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
    const body = await response.text();
    expect(body.length).toBeGreaterThan(100);
    for (const encodings of ['identity', 'gzip;q=0', 'br, gzip;q=0.0', 'xgzip', 'br, GZIP ; q=0.5']) {
      const other = await get(`/v1/docs/${file}`, '*/*', 'GET', { 'accept-encoding': encodings });
      const encoding = encodings.includes('GZIP') ? 'gzip' : null;
      expect([other.headers.get('content-encoding'), other.headers.get('vary')]).toEqual([
        encoding,
        'Accept-Encoding',
      ]);
      expect((await other.text()) === body).toBe(true);
    }
  }
  const none = await get('/v1/docs/package.json', '*/*');
  expect([none.status, await none.json()]).toMatchObject([404, { code: 'not_found' }]);
});

it('does not exist where an application has none', async () => {
  const without = await startSampleApi();
  try {
    for (const path of ['/', '/docs', '/openapi.json'])
      expect((await fetch(`${without.origin}${path}`)).status).toBe(404);
  } finally {
    await without.app.close();
  }
});
