import { Problem } from '@certwright/errors';
import fc from 'fast-check';
import { canonicalJson, readIdempotencyKey } from './idempotency-key';

it('has 1 to 255 visible ASCII characters', () => {
  expect(readIdempotencyKey(undefined)).toBeNull();
  expect(readIdempotencyKey('~'.repeat(255))).toBe('~'.repeat(255));
  for (const key of ['', 'a b', 'ü', 'x'.repeat(256), ['a', 'b']])
    expect(() => readIdempotencyKey(key)).toThrow(Problem);
});

it('compares bodies by their meaning', () => {
  expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: true })).toBe(
    '{"a":true,"b":[1,{"c":"x","d":null}]}',
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: 300 },
  );
});
