import { restAfterFailure, restOfCurrent } from './crl-intervals';

const minute = 60_000;
const hour = 60 * minute;
const intervals = { minMs: 15 * minute, maxMs: hour };
const restOf = (nextUpdateInMs: number | null, random: number) =>
  restOfCurrent(nextUpdateInMs === null ? null : nextUpdateInMs, intervals, 0, () => random);

describe.each([0, 0.3, 0.999_999])('with the random number %d, a revocation list', (random) => {
  it.each([null, 2 * hour, 7 * 24 * hour])(
    'is fetched within the maximum interval: next update in %s ms',
    (ms) => {
      expect(restOf(ms, random)).toBeLessThanOrEqual(hour);
      expect(restOf(ms, random)).toBeGreaterThanOrEqual(0.8 * hour);
    },
  );

  it.each([16 * minute, 40 * minute, 50 * minute])(
    'is fetched within a minute after its next update, and not before: in %d ms',
    (ms) => {
      expect(restOf(ms, random)).toBeGreaterThanOrEqual(ms);
      expect(restOf(ms, random)).toBeLessThanOrEqual(ms + minute);
    },
  );

  it.each([-hour, 0, minute])('is not fetched before the minimum interval: next update in %d ms', (ms) => {
    expect(restOf(ms, random)).toBe(15 * minute);
  });

  it('that failed is fetched again within the maximum interval, unless Retry-After is later', () => {
    expect(restAfterFailure(1, hour, null, () => random)).toBeLessThanOrEqual(minute);
    expect(restAfterFailure(50, hour, null, () => random)).toBeLessThanOrEqual(hour);
    expect(restAfterFailure(1, hour, 2 * hour, () => random)).toBe(2 * hour);
  });
});

it('rests longer after each failure, and as long as Retry-After says', () => {
  const rests = [1, 2, 5, 12, 1_000].map((failures) => restAfterFailure(failures, 86_400_000, null, () => 0));
  expect(rests).toEqual([60_000, 120_000, 960_000, 86_400_000, 86_400_000]);
  expect(restAfterFailure(1, 86_400_000, 7_200_000, () => 0)).toBe(7_200_000);
  expect(restAfterFailure(1, 86_400_000, 1e12, () => 0)).toBe(86_400_000);
});
