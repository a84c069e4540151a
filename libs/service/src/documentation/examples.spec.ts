import { Problem } from '@certwright/errors';
import { renderErrorObject } from '../http/error-object';
import { ErrorExamples } from './error-examples';
import { withExamples } from './operation-examples';

describe('errors', () => {
  const errors = new ErrorExamples(
    {
      not_found: new Problem('not_found', 'There is no such thing.'),
      rate_limited: new Problem('rate_limited', 'Too many.', { retryAfterS: 1 }),
      bad_request: new Problem('bad_request', 'No JSON.'),
      bad_colour: Problem.ofFields([{ field: 'colour', code: 'invalid_value', message: 'No colour.' }]),
    },
    renderErrorObject,
    'Error',
  );

  it('are shown in the dialect of the API', () => {
    expect(errors.components()).toMatchObject({
      not_found: { value: { code: 'not_found', message: 'There is no such thing.' } },
      bad_colour: { value: { code: 'bad_request', sub_errors: [{ field: 'colour' }] } },
    });
  });

  it('are responses by status', () => {
    const responses = errors.responses({
      bad_request: 'See sub_errors',
      bad_colour: 'See sub_errors',
      rate_limited: 'Too many requests',
    });
    expect(responses).toEqual({
      400: {
        description: 'See sub_errors',
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            examples: {
              bad_request: { $ref: '#/components/examples/bad_request' },
              bad_colour: { $ref: '#/components/examples/bad_colour' },
            },
          },
        },
      },
      429: expect.objectContaining({
        description: 'Too many requests',
        headers: { 'Retry-After': expect.anything() as unknown },
      }) as unknown,
    });
  });
});

describe('examples of operations', () => {
  const json = { content: { 'application/json': { schema: {} } } };
  const form = { content: { ...json.content, 'application/x-www-form-urlencoded': { schema: {} } } };
  const document = {
    paths: {
      '/things': { post: { operationId: 'make', requestBody: form, responses: { 200: json, 204: {} } } },
    },
  };

  it('stand at the body of the request, in each of its forms, and of the response', () => {
    const { paths } = withExamples(document, {
      make: { request: { one: { a: [] } }, form: { one: { a: '[]' } }, responses: { 200: { id: 1 } } },
    });
    expect(paths['/things'].post).toMatchObject({
      requestBody: {
        content: {
          'application/json': { examples: { one: { value: { a: [] } } } },
          'application/x-www-form-urlencoded': { examples: { one: { value: { a: '[]' } } } },
        },
      },
      responses: {
        200: { content: { 'application/json': { examples: { success: { value: { id: 1 } } } } } },
      },
    });
  });

  it.each([
    [{ made: {} }, 'no operation is called made'],
    [{ make: { responses: { 201: {} } } }, 'make has no response 201 with a body'],
    [{ make: { responses: { 204: {} } } }, 'make has no response 204 with a body'],
  ])('%j is refused: %s', (examples, message) => {
    expect(() => withExamples(document, examples)).toThrow(message);
  });
});
