import { restAfterFailure, restOfFollowed } from '../following/rest';
import { isLagging, lagS, type WatchedLog } from './lag';

const now = Date.parse('2026-06-01T00:00:00Z');
const ago = (seconds: number) => new Date(now - seconds * 1_000);
const log = (change: Partial<WatchedLog> = {}): WatchedLog => ({
  position: '100',
  headSize: '100',
  headAt: ago(10),
  entryAt: ago(5_000),
  createdAt: ago(9_000),
  intervalEnd: null,
  listState: 'usable',
  mmdS: 60,
  ...change,
});

it('with nothing left to read, a log is as far behind as its head is old', () => {
  expect(lagS(log(), now)).toBe(10);
  expect(isLagging(log(), now)).toBe(false);
  expect(isLagging(log({ headAt: ago(361) }), now)).toBe(true);
  expect(isLagging(log({ headAt: ago(361), mmdS: 86_400 }), now)).toBe(false);
});

it('with a backlog it is as far behind as the entry that we stand at', () => {
  expect(lagS(log({ headSize: '101' }), now)).toBe(5_000);
  expect(lagS(log({ headSize: '101', entryAt: null }), now)).toBe(9_000);
});

it('a log that takes nothing any more is not behind at its end', () => {
  for (const change of [{ listState: 'readonly' }, { listState: 'retired' }, { intervalEnd: ago(1) }]) {
    expect(lagS(log({ ...change, headAt: ago(1e6) }), now)).toBe(0);
    expect(lagS(log({ ...change, headSize: '101' }), now)).toBe(5_000);
  }
});

it('failures rest longer and longer, and as long as the log says', () => {
  const rests = [1, 2, 5, 11, 1_000].map((failures) => restAfterFailure(failures, null, () => 0.5));
  expect(rests).toEqual([1_000, 2_000, 16_000, 900_000, 900_000]);
  expect(restAfterFailure(1, 30_000, () => 0.5)).toBe(30_000);
  expect(restAfterFailure(1, 1e9, () => 0.5)).toBe(3_600_000);
  expect([0, 0.999].map((random) => restAfterFailure(3, null, () => random))).toEqual([2_000, 5_996]);
});

it('a shard whose certificates have all expired rests for hours', () => {
  expect(restOfFollowed({ intervalEnd: ago(-1), listState: 'usable' }, 10_000, now, () => 0.5)).toBe(10_000);
  expect(restOfFollowed({ intervalEnd: ago(1), listState: 'usable' }, 10_000, now, () => 0.5)).toBe(
    21_600_000,
  );
});
