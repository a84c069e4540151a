import 'reflect-metadata';
import type { FastifyInstance } from 'fastify';
import { describeDocument, describeServedDocumentation, printedRoutes } from '@certwright/testing';
import { keptDocument, RunningApi } from '../testing/running-api';
import { openApiDocument } from './openapi-document';

describeDocument(keptDocument, openApiDocument);

describe('with the API running', () => {
  let api: RunningApi;
  beforeAll(async () => {
    api = await RunningApi.start();
  });
  afterAll(() => api.stop());

  const nameless = (route: string) => route.replace(/:[A-Za-z_]+|\{[A-Za-z_]+\}/g, '*').replace(/\/$/, '');

  it('describes every route of the API, and no other', () => {
    const described = Object.entries(keptDocument.paths).flatMap(([at, methods]) =>
      Object.keys(methods).map((method) => nameless(`${method.toUpperCase()} /api/v2${at}`)),
    );
    const { printRoutes } = api.app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
    const served = printedRoutes(printRoutes({ commonPrefix: false }))
      .filter((route) => /^(GET|POST) \/api\/v2\//.test(route) && !/\/docs|\/openapi\.json$/.test(route))
      .map(nameless);
    expect([...new Set(served)].sort()).toEqual(described.sort());
  });

  describeServedDocumentation((at) => api.call('GET', at), {
    root: '/api/v2',
    kept: keptDocument,
    mediaType: 'application/json',
    about: {
      name: 'Certwright: certificates',
      version: '2',
      description: 'Certificate objects keyed by common name, and their instances.',
      status_url: '/readyz',
    },
  });
});
