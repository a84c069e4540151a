import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { faultsInOpenApi } from '@certwright/testing';
import { RunningApi } from '../testing/running-api';
import { openApiDocument } from './openapi-document';

const kept = JSON.parse(readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

it('keeps openapi.json in line with the code', async () => {
  expect(JSON.parse(JSON.stringify(await openApiDocument()))).toEqual(kept);
});

it('is valid OpenAPI 3.1, with a valid example of every body', async () => {
  expect(await faultsInOpenApi(kept)).toEqual([]);
});

describe('with the API running', () => {
  let api: RunningApi;
  beforeAll(async () => {
    api = await RunningApi.start();
  });
  afterAll(() => api.stop());

  /** `GET /certs/:cn` of every route of the API itself, with parameters without names. */
  const routes = () => {
    const tree = (api.app.getHttpAdapter().getInstance() as unknown as FastifyInstance).printRoutes({
      commonPrefix: false,
    });
    const stack: string[] = [];
    return tree.split('\n').flatMap((line) => {
      const [, indent = '', part = '', methods = ''] =
        /^([\s│]*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?/.exec(line) ?? [];
      if (part === '') return [];
      stack.length = indent.length / 4;
      stack.push(part);
      const at = stack.join('').replace(/\/{2,}/g, '/');
      return methods
        .split(', ')
        .flatMap((method) => (['GET', 'POST'].includes(method) ? [`${method} ${at}`] : []));
    });
  };
  const nameless = (route: string) => route.replace(/:[A-Za-z_]+|\{[A-Za-z_]+\}/g, '*').replace(/\/$/, '');

  it('describes every route of the API, and no other', () => {
    const described = Object.entries(kept.paths).flatMap(([at, methods]) =>
      Object.keys(methods).map((method) => nameless(`${method.toUpperCase()} /api/v2${at}`)),
    );
    const served = routes()
      .filter((route) => / \/api\/v2\//.test(route) && !/\/docs|\/openapi\.json$/.test(route))
      .map(nameless);
    expect([...new Set(served)].sort()).toEqual(described.sort());
  });

  it('shows Swagger UI, with every file from here', async () => {
    const page = await api.call('GET', '/api/v2/docs');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => String(file));
    expect(files).toHaveLength(4);
    for (const file of files) expect((await api.call('GET', file)).status).toBe(200);
    for (const at of ['/api/v2/docs/openapi.json', '/api/v2/openapi.json'])
      expect((await api.call('GET', at)).json).toEqual(kept);
    expect((await api.call('GET', '/api/v2/docs/package.json')).status).toBe(404);
  });

  it.each(['/', '/api/v2'])('describes the API at %s, without a key', async (at) => {
    const { status, headers, json } = await api.call('GET', at);
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(json).toEqual({
      name: 'Certwright: certificates',
      version: '2',
      description: 'Certificate objects keyed by common name, and their instances.',
      documentation_url: '/api/v2/docs',
      openapi_url: '/api/v2/openapi.json',
      status_url: '/readyz',
    });
    for (const link of [json.documentation_url, json.openapi_url, json.status_url])
      expect((await api.call('GET', link)).status).toBe(200);
  });
});
