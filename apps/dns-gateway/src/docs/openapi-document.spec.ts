import { readFileSync } from 'node:fs';
import path from 'node:path';
import { faultsInOpenApi } from '@certwright/testing';
import { gatewayEndpoints } from '@certwright/gateway-contract';
import {
  readAddRecord,
  readGetZones,
  readMakeIntegration,
  readRemoveRecord,
} from '../integrations/messages-reader';
import { openApiDocument } from './openapi-document';
import { type Schema, schemas } from './schemas';

const document = JSON.parse(JSON.stringify(openApiDocument())) as {
  readonly paths: Readonly<Record<string, object>>;
};

it('keeps openapi.json as the code says', () => {
  const kept: unknown = JSON.parse(readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8'));
  expect(document).toEqual(kept);
});

it('is valid OpenAPI 3.1, with a valid example of every body', async () => {
  expect(await faultsInOpenApi(document)).toEqual([]);
});

it('describes every message, and refers to nothing that it does not have', () => {
  const paths = [...gatewayEndpoints, 'description'].map((endpoint) => `/${endpoint}`);
  expect(Object.keys(document.paths).sort()).toEqual(paths.sort());
  const referred = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)];
  expect(new Set(referred.map(([, name]) => name))).toEqual(new Set(Object.keys(schemas)));
});

const owner = { account: 'a1', integration_id: 'i1', provider: 'desec' };
const integrated = { ...owner, integration: 'handle' };
const record = { fqdn: '_acme-challenge.example.com', type: 'TXT', value: 'x', ttl: 60, replace: false };

describe.each<[string, (body: unknown) => unknown, Readonly<Record<string, unknown>>]>([
  ['MakeIntegration', readMakeIntegration, { ...owner, credentials: { type: 'bearer', token: 'a token' } }],
  ['GetZones', readGetZones, integrated],
  ['AddRecord', readAddRecord, { ...integrated, record }],
  ['RemoveRecord', readRemoveRecord, { ...integrated, record_handle: 'handle' }],
  ['Record', (given) => readAddRecord({ ...integrated, record: given }), record],
])('%s', (name, read, body) => {
  const { properties, required } = schemas[name] as Schema & {
    readonly properties: Schema;
    readonly required: readonly string[];
  };

  it('has the members that the gateway reads, and needs those that it needs', () => {
    expect(Object.keys(properties).sort()).toEqual(Object.keys(body).sort());
    expect(() => read(body)).not.toThrow();
    const without = (member: string) =>
      Object.fromEntries(Object.entries(body).filter(([key]) => key !== member));
    const needed = Object.keys(body).filter((member) => {
      try {
        read(without(member));
        return false;
      } catch {
        return true;
      }
    });
    expect(needed.sort()).toEqual([...required].sort());
    expect(() => read({ ...body, other: 'x' })).toThrow();
  });
});
