import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { faultsInOpenApi } from '@certwright/testing';
import { RunningApi } from '../testing/running-api';
import { openApiDocument } from './openapi-document';

const kept = JSON.parse(readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8'));

it('keeps openapi.json in line with the code', async () => {
  expect(JSON.parse(JSON.stringify(await openApiDocument()))).toEqual(kept);
});

it('is valid OpenAPI 3.1, with a valid example of every body', async () => {
  expect(await faultsInOpenApi(kept)).toEqual([]);
});

describe('GET /api/v3/docs', () => {
  let api: RunningApi;
  beforeAll(async () => {
    api = await RunningApi.start();
  });
  afterAll(() => api.stop());

  it('shows Swagger UI, with every file from here', async () => {
    const page = await api.call('GET', '/api/v3/docs');
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => String(file));
    expect(files).toHaveLength(4);
    for (const file of files) {
      expect(file).toMatch(/^\/api\/v3\/docs\//);
      expect((await api.call('GET', file)).status).toBe(200);
    }
  });

  it.each(['/api/v3/docs/openapi.json', '/api/v3/openapi.json'])(
    'serves the document at %s',
    async (path) => {
      expect((await api.call('GET', path)).json).toEqual(kept);
    },
  );

  it.each(['/', '/api/v3', '/api/v3/'])('describes the API at %s, without a key', async (path) => {
    const { status, json } = await api.call('GET', path);
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        name: 'Certwright: orders',
        version: '3',
        description: 'Issues TLS certificates and keeps them valid.',
        documentation_url: '/api/v3/docs',
        openapi_url: '/api/v3/openapi.json',
        status_url: '/readyz',
      },
    });
    for (const link of [json.documentation_url, json.openapi_url, json.status_url])
      expect((await api.call('GET', link)).status).toBe(200);
  });

  it('describes the API without the database', async () => {
    const statements = await api.statementsOf(async () => {
      expect((await api.call('GET', '/')).status).toBe(200);
      expect((await api.call('GET', '/', { headers: { accept: 'text/html' } })).status).toBe(200);
    });
    expect(statements).toEqual([]);
  });

  it.each(['package.json', '..%2fpackage.json', 'constructor'])('has no file %s', async (file) => {
    expect((await api.call('GET', `/api/v3/docs/${file}`)).status).toBe(404);
  });
});
