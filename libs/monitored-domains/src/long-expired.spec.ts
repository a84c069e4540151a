import { wasLongExpired } from './index';

it.each([
  ['a year before it expired', '2025-07-01T00:00:00Z', false],
  ['when it expired', '2026-07-01T00:00:00Z', false],
  ['less than a day later', '2026-07-01T23:59:59.999Z', false],
  ['a day later', '2026-07-02T00:00:00Z', true],
  ['a year later', '2027-07-01T00:00:00Z', true],
])(
  'a certificate concerns accounts unless it had been expired for a day: logged %s',
  (_when, loggedAt, expected) => {
    expect(wasLongExpired(new Date('2026-07-01T00:00:00Z'), new Date(loggedAt))).toBe(expected);
  },
);
