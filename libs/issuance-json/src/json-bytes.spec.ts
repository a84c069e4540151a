import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { JsonBytes } from './json-bytes';
import { timestamp } from './timestamp';

it('writes parts in UTF-8, however few bytes were expected', () => {
  const times = fc.date({
    min: new Date('-000100-01-01'),
    max: new Date('+010100-01-01'),
    noInvalidDate: true,
  });
  const parts = fc.record({
    text: fc.string({ unit: 'grapheme' }),
    ascii: fc.stringMatching(/^[ -~]*$/),
    time: times,
  });
  fc.assert(
    fc.property(fc.array(parts), fc.nat(64), (written, expected) => {
      const json = new JsonBytes(expected);
      for (const { text, ascii, time } of written) {
        json.text(text);
        json.ascii(ascii);
        json.timestamp(time.getTime());
        json.sha256(createHash('sha256').update(text).digest(), 0);
      }
      const whole = written.map(
        ({ text, ascii, time }) =>
          text + ascii + timestamp(time) + createHash('sha256').update(text).digest('hex'),
      );
      expect(json.written().toString()).toBe(whole.join(''));
      expect(json).toHaveLength(Buffer.byteLength(whole.join('')));
    }),
  );
});

it('writes the digest that begins at a byte', () => {
  const json = new JsonBytes(0);
  json.sha256(Buffer.from(Array.from({ length: 64 }, (_, nth) => nth * 4)), 16);
  expect(json.written().toString()).toMatch(/^4044484c50[0-9a-f]{48}b4b8bc$/);
});
