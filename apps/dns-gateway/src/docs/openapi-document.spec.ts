import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describeDocument } from '@certwright/testing';
import { gatewayEndpoints } from '@certwright/gateway-contract';
import { requestReading } from '@certwright/service';
import {
  AddRecordRequest,
  GetZonesRequest,
  MakeIntegrationRequest,
  RemoveRecordRequest,
} from '../integrations/messages';
import { openApiDocument } from './openapi-document';

const document = JSON.parse(readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, object>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
};
const { schemas } = document.components;

describeDocument(document, openApiDocument);

it('describes every message, and refers to nothing that it does not have', () => {
  const paths = [...gatewayEndpoints, 'description'].map((endpoint) => `/${endpoint}`);
  expect(Object.keys(document.paths).sort()).toEqual(paths.sort());
  const referred = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)];
  expect(new Set(referred.map(([, name]) => name))).toEqual(new Set(Object.keys(schemas)));
});

const owner = { account: 'a1', integration_id: 'i1', provider: 'desec' };
const integrated = { ...owner, integration: 'handle' };
const record = { fqdn: '_acme-challenge.example.com', type: 'TXT', value: 'x', ttl: 60, replace: false };

const readerOf = (metatype: new () => object) => (body: unknown) =>
  requestReading.transform(body, { type: 'body', metatype });

describe.each<[string, (body: unknown) => unknown, Readonly<Record<string, unknown>>]>([
  [
    'MakeIntegration',
    readerOf(MakeIntegrationRequest),
    { ...owner, credentials: { type: 'bearer', token: 'a token' } },
  ],
  ['GetZones', readerOf(GetZonesRequest), integrated],
  ['AddRecord', readerOf(AddRecordRequest), { ...integrated, record }],
  ['RemoveRecord', readerOf(RemoveRecordRequest), { ...integrated, record_handle: 'handle' }],
  ['Record', (given) => readerOf(AddRecordRequest)({ ...integrated, record: given }), record],
])('%s', (name, read, body) => {
  const { properties, required } = schemas[name] as {
    readonly properties: object;
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
