import 'reflect-metadata';
import { describeDocument, describeServedDocumentation } from '@certwright/testing';
import { keptDocument, RunningApi } from '../testing/running-api';
import { openApiDocument } from './openapi-document';

describeDocument(keptDocument, openApiDocument);

describe('with the API running', () => {
  let api: RunningApi;
  beforeAll(async () => {
    api = await RunningApi.start();
  });
  afterAll(() => api.stop());

  describeServedDocumentation((at) => api.call('GET', at), {
    root: '/api/v3',
    kept: keptDocument,
    mediaType: 'application/json; charset=utf-8',
    about: {
      name: 'Certwright: orders',
      version: '3',
      description: 'Issues TLS certificates and keeps them valid.',
      status_url: '/readyz',
    },
  });

  it('describes the API without the database', async () => {
    const statements = await api.statementsOf(async () => {
      expect((await api.call('GET', '/')).status).toBe(200);
      expect((await api.call('GET', '/', { headers: { accept: 'text/html' } })).status).toBe(200);
    });
    expect(statements).toEqual([]);
  });
});
