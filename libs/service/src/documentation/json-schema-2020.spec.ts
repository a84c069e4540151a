import { asJsonSchema2020 } from './json-schema-2020';

it('turns keywords of OpenAPI 3.0 into those of JSON Schema 2020-12', () => {
  const schema = {
    type: 'object',
    example: { file: 'AA==' },
    properties: {
      file: { type: 'string', format: 'byte' },
      picture: { type: 'string', format: 'binary' },
      until: { type: ['string', 'null'], format: 'date-time', example: '2026-11-20T00:00:00Z' },
      owner: { description: 'Who has it.', allOf: [{ $ref: '#/components/schemas/Person' }] },
    },
  };
  const expected = {
    type: 'object',
    examples: [{ file: 'AA==' }],
    properties: {
      file: { type: 'string', contentEncoding: 'base64' },
      picture: { type: 'string', contentMediaType: 'application/octet-stream' },
      until: { type: ['string', 'null'], format: 'date-time', examples: ['2026-11-20T00:00:00Z'] },
      owner: { description: 'Who has it.', $ref: '#/components/schemas/Person' },
    },
  };
  expect(asJsonSchema2020({ components: { schemas: { Thing: schema } } })).toEqual({
    components: { schemas: { Thing: expected } },
  });
  const operation = (described: object) => ({
    paths: { '/a': { get: { responses: { default: { content: { 'x/y': { schema: described } } } } } } },
  });
  expect(asJsonSchema2020(operation(schema))).toEqual(operation(expected));
});

it('leaves values, names and parameters as they are', () => {
  const document = {
    parameters: [{ name: 'name', in: 'path', example: 'example.com', schema: { type: 'string' } }],
    components: {
      examples: { error: { value: { format: 'byte', example: 'x' } } },
      schemas: {
        example: { type: 'string' },
        Named: {
          type: 'object',
          properties: {
            example: { type: 'string' },
            format: { type: 'string' },
            default: { type: 'string' },
          },
          default: { format: 'byte', example: 'x' },
          enum: [{ format: 'byte' }],
        },
      },
    },
  };
  expect(asJsonSchema2020(document)).toEqual(document);
});
