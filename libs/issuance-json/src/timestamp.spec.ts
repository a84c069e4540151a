import fc from 'fast-check';
import { timestamp, timestampOrNull } from './timestamp';

it('is RFC 3339 in UTC without fractions, from the year 1 to 9999', () => {
  const dates = fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(dates, (date) => expect(timestamp(date)).toBe(`${date.toISOString().slice(0, 19)}Z`)),
    { numRuns: 500, examples: [[new Date(-1)], [new Date(0)], [new Date('0001-01-01T00:00:00Z')]] },
  );
  expect(timestampOrNull(null)).toBeNull();
});

it.each([
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59Z'],
  ['+010000-01-01T23:58:59Z', '9999-12-31T23:59:59Z'],
  ['-000001-12-31T00:00:00Z', '0000-01-01T00:00:00Z'],
])('has a year of four digits: %s is %s', (instant, text) => {
  expect(timestamp(new Date(instant))).toBe(text);
});
