import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { RunningApi } from '../testing/running-api';
import { openApiDocument } from './openapi-document';

const kept = JSON.parse(readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

it('keeps openapi.json as the code says', () => {
  expect(JSON.parse(JSON.stringify(openApiDocument()))).toEqual(kept);
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
      .filter((route) => / \/api\/v2\//.test(route) && !route.includes('/docs'))
      .map(nameless);
    expect([...new Set(served)].sort()).toEqual(described.sort());
  });

  it('shows Swagger UI, with every file from here', async () => {
    const page = await api.call('GET', '/api/v2/docs');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => String(file));
    expect(files).toHaveLength(4);
    for (const file of files) expect((await api.call('GET', file)).status).toBe(200);
    expect((await api.call('GET', '/api/v2/docs/openapi.json')).json).toEqual(kept);
    expect((await api.call('GET', '/api/v2/docs/package.json')).status).toBe(404);
  });
});
