import { Problem } from '@certwright/errors';
import { parseJsonBody } from './json-body';

const problemOf = (body: unknown): Problem => {
  try {
    parseJsonBody(Buffer.from(JSON.stringify(body)));
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('The body was read.');
};
const fieldsOf = (body: unknown) => problemOf(body).faults.map(({ field, message }) => [field, message]);

describe('a NUL or a lone surrogate', () => {
  it('is reported with its member, and its place within it', () => {
    const body = { record: { value: 'a\0', ttl: 1 }, names: ['a', ['\udc00', 'b\0']], good: '\u{1f600}' };
    expect(problemOf(body).code).toBe('bad_request');
    expect(fieldsOf(body)).toEqual([
      ['record.value', 'record.value contains a NUL character.'],
      ['names', 'names[1][0] contains a lone surrogate, which is not a character.'],
    ]);
  });

  it.each([
    ['the whole body', '\0', 'The body contains a NUL character.'],
    ['an array', ['\ud800'], 'The body contains a lone surrogate, which is not a character.'],
    ['the name of a member', { 'a\0': 1 }, 'The body has a member whose name contains a NUL character.'],
  ])('in %s is reported without a field', (_where, body, message) => {
    expect(problemOf(body)).toMatchObject({ code: 'bad_request', message, faults: [] });
  });

  it('is reported for 100 members at most, with 64 characters of their names', () => {
    const body = Object.fromEntries(
      Array.from({ length: 200 }, (_, nth) => [`${nth}${'x'.repeat(100)}`, '\0']),
    );
    expect(fieldsOf(body)).toHaveLength(100);
    expect(fieldsOf(body)[0]?.[0]).toBe(`0${'x'.repeat(63)}…`);
  });

  it('is reported without the name of its member when that is a private key', () => {
    const body = { '-----BEGIN PRIVATE KEY-----MIGHAgEAMBMGByqGSM49': '\0' };
    expect(problemOf(body)).toMatchObject({ message: 'The body contains a NUL character.', faults: [] });
  });
});
