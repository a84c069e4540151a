import { request } from 'node:https';
import type { KeyAndCertificate } from '@certwright/testing';
import { clientOf } from '../testing/certificates';
import { keptDocument, RunningGateway } from '../testing/running-gateway';

let gateway: RunningGateway;
let stranger: KeyAndCertificate;
beforeAll(async () => {
  gateway = await RunningGateway.start();
  stranger = clientOf(gateway.authority, 'stranger');
});
afterAll(() => gateway.dispose());

interface Got {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly text: string;
}

/** With a certificate of the private CA whose identity has no grant. */
const get = (at: string, accept = '*/*'): Promise<Got> =>
  new Promise((resolve, reject) => {
    const { authority, port } = gateway;
    const { key, certificate: cert } = stranger;
    request(
      {
        ...{ host: '127.0.0.1', port, path: at, headers: { accept }, agent: false },
        ...{ ca: authority.pem, key, cert },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () =>
          resolve({ status: response.statusCode, type: response.headers['content-type'], text }),
        );
      },
    )
      .on('error', reject)
      .end();
  });

it('describes the gateway at its root, to every client of the private CA', async () => {
  const { status, text } = await get('/');
  expect([status, JSON.parse(text)]).toMatchObject([
    200,
    { version: '1', documentation_url: '/docs', openapi_url: '/openapi.json', status_url: '/readyz' },
  ]);
  expect(await get('/', 'text/html')).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' });
});

it('shows Swagger UI, with every file from the gateway itself', async () => {
  const page = await get('/docs');
  expect(page).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' });
  const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => String(file));
  expect(files).toHaveLength(4);
  for (const file of files) expect((await get(file)).status).toBe(200);
  expect(JSON.parse((await get('/openapi.json')).text)).toEqual(keptDocument);
  expect((await get('/docs/package.json')).status).toBe(404);
});

it('refuses everything else to a client without a grant, and documentation to one without a certificate', async () => {
  expect((await get('/description?account=a1')).status).toBe(403);
  await expect(gateway.request({ path: '/' }, '', null)).rejects.toThrow();
});
