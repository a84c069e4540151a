import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { faultsInOpenApi } from '@certwright/testing';
import { RunningSearch } from '../testing/running-search';
import { openApiDocument } from './openapi-document';

const kept = JSON.parse(readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, object>>;
};

it('openapi.json matches the code', async () => {
  expect(JSON.parse(JSON.stringify(await openApiDocument()))).toEqual(kept);
});

it('is valid OpenAPI 3.1, with a valid example of every body', async () => {
  expect(await faultsInOpenApi(kept)).toEqual([]);
});

describe('with the API running', () => {
  let search: RunningSearch;
  const served = new Set<string>();
  beforeAll(async () => {
    search = await RunningSearch.start();
    const instance = search.app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
    const tree = instance.printRoutes({ commonPrefix: false });
    const stack: string[] = [];
    for (const line of tree.split('\n')) {
      const [, indent = '', part = '', methods = ''] =
        /^([\s│]*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?/.exec(line) ?? [];
      if (part === '') continue;
      stack.length = indent.length / 4;
      stack.push(part);
      if (methods.includes('GET')) served.add(stack.join('').replace(/\/{2,}/g, '/'));
    }
  });
  afterAll(async () => await search.stop());

  it('describes exactly the routes of the API', () => {
    const nameless = (route: string) => route.replace(/:[a-z]+|\{[a-z]+\}/g, '*').replace(/\/$/, '');
    const described = Object.keys(kept.paths).map((at) => nameless(`/v1${at}`));
    const own = [...served].filter((route) => route.startsWith('/v1/') && !route.includes('/docs'));
    expect([...new Set(own.map(nameless))].sort()).toEqual(described.sort());
  });

  it('shows Swagger UI, with all files from this server', async () => {
    const page = await search.get('/v1/docs');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => String(file));
    expect(files).toHaveLength(4);
    for (const file of files) expect((await search.get(file)).status).toBe(200);
    for (const at of ['/v1/docs/openapi.json', '/v1/openapi.json'])
      expect((await search.get(at)).json).toEqual(kept);
    expect((await search.get('/v1/docs/package.json')).status).toBe(404);
  });

  it.each(['/', '/v1'])('describes the API at %s, without a key', async (at) => {
    const { status, json } = await search.get(at);
    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        name: 'Certwright: certificate transparency search',
        version: '1',
        documentation_url: '/v1/docs',
        openapi_url: '/v1/openapi.json',
        status_url: '/v1/status',
      },
    });
    for (const link of [json.documentation_url, json.openapi_url, json.status_url])
      expect((await search.get(link)).status).toBe(200);
  });
});
