import { examplesIn, faultsInOpenApi } from './openapi';

const thing = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const named = (schema: object = { $ref: '#/components/schemas/Thing' }, examples: object = {}) => ({
  openapi: '3.1.0',
  info: { title: 'Things', version: '1' },
  paths: {
    '/things': {
      get: {
        operationId: 'getThing',
        responses: {
          200: { description: 'Success', content: { 'application/json': { schema, examples } } },
        },
      },
    },
  },
  components: { schemas: { Thing: thing }, examples: { known: { value: { name: 'known' } } } },
});
const good = { inline: { value: { name: 'a' } }, known: { $ref: '#/components/examples/known' } };

it('finds nothing wrong with a good document, and its examples', async () => {
  const document = named(undefined, good);
  expect(await faultsInOpenApi(document)).toEqual([]);
  expect(examplesIn(document)).toEqual(
    ['a', 'known'].map((name, i) => ({
      ...{ operationId: 'getThing', method: 'GET', path: '/things', status: 200 },
      ...{ mediaType: 'application/json', name: ['inline', 'known'][i], value: { name } },
    })),
  );
});

it.each<[string, object, RegExp]>([
  ['another version', { ...named(undefined, good), openapi: '3.0.0' }, /openapi is 3\.0\.0/],
  ['an unknown member', { ...named(undefined, good), infos: {} }, /OpenAPI 3\.1: .*infos/],
  ['nullable', named({ type: 'string', nullable: true }, { a: { value: 'a' } }), /"nullable"/],
  ['example in a schema', named({ type: 'string', example: 'a' }, { a: { value: 'a' } }), /"example"/],
  ['a type that is none', named({ type: 'text' }, { a: { value: 'a' } }), /schema/],
  ['a reference to nothing', named({ $ref: '#/components/schemas/Other' }, good), /Other/],
  ['an invalid example', named(undefined, { a: { value: {} } }), /example a: .*'name'/],
  ['a reference to no example', named(undefined, { a: { $ref: '#/components/examples/a' } }), /example a/],
  ['an invalid example of a schema', named({ ...thing, examples: [{}] }, good), /an example is not valid/],
  ['a body without an example', named(), /getThing 200 application\/json: no example/],
])('finds %s', async (_what, document, fault) => {
  expect((await faultsInOpenApi(document)).join('\n')).toMatch(fault);
});
