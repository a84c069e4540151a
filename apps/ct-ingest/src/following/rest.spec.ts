import { restAfterFailure, restOfFollowed } from './rest';

const now = Date.parse('2026-06-01T00:00:00Z');
const ago = (seconds: number) => new Date(now - seconds * 1_000);

it('rests longer after each failure, and as long as Retry-After says', () => {
  const rests = [1, 2, 5, 11, 1_000].map((failures) => restAfterFailure(failures, null, () => 0.5));
  expect(rests).toEqual([1_000, 2_000, 16_000, 900_000, 900_000]);
  expect(restAfterFailure(1, 30_000, () => 0.5)).toBe(30_000);
  expect(restAfterFailure(1, 1e9, () => 0.5)).toBe(3_600_000);
  expect([0, 0.999].map((random) => restAfterFailure(3, null, () => random))).toEqual([2_000, 5_996]);
});

it('rests for hours when all certificates of a shard have expired', () => {
  expect(restOfFollowed({ intervalEnd: ago(-1), listState: 'usable' }, 10_000, now, () => 0.5)).toBe(10_000);
  expect(restOfFollowed({ intervalEnd: ago(1), listState: 'usable' }, 10_000, now, () => 0.5)).toBe(
    21_600_000,
  );
});
