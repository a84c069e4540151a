import 'reflect-metadata';
import type { FastifyInstance } from 'fastify';
import { describeDocument, describeServedDocumentation, printedRoutes } from '@certwright/testing';
import { keptDocument, RunningSearch } from '../testing/running-search';
import { openApiDocument } from './openapi-document';

describeDocument(keptDocument, openApiDocument);

describe('with the API running', () => {
  let search: RunningSearch;
  beforeAll(async () => {
    search = await RunningSearch.start();
  });
  afterAll(async () => await search.stop());

  it('describes exactly the routes of the API', () => {
    const nameless = (route: string) => route.replace(/:[a-z]+|\{[a-z]+\}/g, '*').replace(/\/$/, '');
    const described = Object.keys(keptDocument.paths).map((at) => nameless(`/v1${at}`));
    const { printRoutes } = search.app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
    const own = printedRoutes(printRoutes({ commonPrefix: false }))
      .filter((route) => route.startsWith('GET /v1/') && !route.includes('/docs'))
      .map((route) => nameless(route.slice('GET '.length)));
    expect([...new Set(own)].sort()).toEqual(described.sort());
  });

  describeServedDocumentation((at) => search.get(at), {
    root: '/v1',
    kept: keptDocument,
    mediaType: 'application/json; charset=utf-8',
    about: {
      name: 'Certwright: certificate transparency search',
      version: '1',
      description:
        'Certificates that public logs have seen, by the domains they are for. A few queries an hour need no API key.',
      status_url: '/v1/status',
    },
  });
});
