import { DocumentedResponses } from './documented-responses';

const json = (schema: object) => ({ description: 'A body', content: { 'application/json': { schema } } });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const document = {
  openapi: '3.1.0',
  servers: [{ url: '/v1' }],
  paths: {
    '/things': {
      get: { operationId: 'listThings', responses: { 200: json({ type: 'array', items: ref('Thing') }) } },
    },
    '/things/{name}': {
      get: { operationId: 'getThing', responses: { 200: json(ref('Thing')), 404: json(ref('Error')) } },
      delete: { operationId: 'deleteThing', responses: { 204: { description: 'Done' } } },
    },
    '/things/newest': { get: { operationId: 'getNewest', responses: { 200: json(ref('Newest')) } } },
  },
  components: {
    schemas: {
      Thing: {
        type: 'object',
        required: ['name', 'part'],
        properties: {
          name: { type: 'string' },
          part: { anyOf: [ref('Part'), { type: 'null' }] },
          labels: { type: 'object', additionalProperties: { type: 'string' } },
          free: {},
        },
      },
      Part: {
        type: 'object',
        required: ['size'],
        properties: {
          size: { type: 'integer' },
          place: { type: 'object', properties: { room: { type: 'string' } } },
        },
      },
      Newest: { allOf: [ref('Thing'), { type: 'object', properties: { age: { type: 'integer' } } }] },
      Error: { type: 'object', required: ['code'], properties: { code: { type: 'string' } } },
    },
  },
};

const differences = (path: string, body: unknown, status = 200, method = 'GET') =>
  new DocumentedResponses(document).differences({ method, path, status, body });

it.each<[string, unknown, string[]]>([
  ['/v1/things/a', { name: 'a', part: null }, []],
  [
    '/v1/things/a',
    { name: 'a', part: { size: 1, place: { room: 'b' } }, labels: { x: 'y' }, free: { z: 1 } },
    [],
  ],
  [
    '/v1/things/{name}',
    { name: 'a', part: null, colour: 'red' },
    ['getThing 200: /colour is not documented'],
  ],
  [
    '/v1/things/a?expand=part',
    { name: 'a', part: { size: 1, place: { floor: 1 } } },
    ['getThing 200: /part/place/floor is not documented'],
  ],
  ['/v1/things/a', { name: 'a' }, ["getThing 200: must have required property 'part'"]],
  ['http://127.0.0.1:80/v1/things', [{ name: 1, part: null }], ['listThings 200: /0/name must be string']],
  ['/v1/things', [{ name: 'a', part: null, x: 1 }], ['listThings 200: /0/x is not documented']],
  ['/v1/things/newest', { name: 'a', part: null, age: 1 }, []],
  ['/v1/things/newest', { name: 'a', part: null, old: 1 }, ['getNewest 200: /old is not documented']],
  ['/v1/health', { anything: 1 }, []],
])('a response to %s with %j differs in %j', (path, body, expected) => {
  expect(differences(path, body)).toEqual(expected);
});

it('compares errors, and reports a status or a body that is not documented', () => {
  expect(differences('/v1/things/a', { code: 'x' }, 404)).toEqual([]);
  expect(differences('/v1/things/a', { code: 'x', hint: 1 }, 404)).toEqual([
    'getThing 404: /hint is not documented',
  ]);
  expect(differences('/v1/things/%zz', { code: 'x' }, 400)).toEqual([]);
  expect(differences('/v1/things/%zz', { x: 1 }, 400)).toEqual([
    'getThing 400: /x is not documented',
    "getThing 400: must have required property 'code'",
  ]);
  expect(differences('/v1/things/a', {}, 500)).toEqual(['getThing 500: the status is not documented']);
  expect(differences('/v1/things/a', {}, 204, 'DELETE')).toEqual([
    'deleteThing 204: no JSON body is documented',
  ]);
  expect(differences('/v1/things/a', {}, 200, 'PUT')).toEqual([]);
});

it('reports the documented members that no response has had', () => {
  const responses = new DocumentedResponses(document);
  const all = ['Error.code', 'Newest.age', 'Part.place', 'Part.place.room', 'Part.size'];
  expect(responses.absentMembers()).toEqual([
    ...all,
    'Thing.free',
    'Thing.labels',
    'Thing.name',
    'Thing.part',
  ]);
  responses.differences({
    method: 'GET',
    path: '/v1/things',
    status: 200,
    body: [{ name: 'a', part: null }],
  });
  expect(responses.absentMembers()).toEqual([...all, 'Thing.free', 'Thing.labels']);
  const part = { size: 1, place: { room: '' } };
  const body = { name: 'a', part, labels: {}, free: 1, age: 1 };
  responses.differences({ method: 'GET', path: '/v1/things/newest', status: 200, body });
  expect(responses.absentMembers()).toEqual(['Error.code']);
});
