import { type FollowedTo, isLagging, lagS } from './log-lag';

const now = Date.parse('2026-06-01T00:00:00Z');
const ago = (seconds: number) => new Date(now - seconds * 1_000);
const log = (change: Partial<FollowedTo> = {}): FollowedTo => ({
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

it('is the age of the head when nothing is left to read', () => {
  expect(lagS(log(), now)).toBe(10);
  expect(isLagging(log(), now)).toBe(false);
  expect(isLagging(log({ headAt: ago(361) }), now)).toBe(true);
  expect(isLagging(log({ headAt: ago(361), mmdS: 86_400 }), now)).toBe(false);
});

it('is not known of a head that is signed with a later time, however long nothing follows', () => {
  expect(lagS(log({ headAt: ago(-86_400) }), now)).toBe(0);
  expect(isLagging(log({ headAt: ago(-360) }), now)).toBe(false);
  expect(isLagging(log({ headAt: ago(-361) }), now)).toBe(true);
  expect(isLagging(log({ headAt: ago(-361), listState: 'retired' }), now)).toBe(false);
});

it('is the age of the current entry with a backlog', () => {
  expect(lagS(log({ headSize: '101' }), now)).toBe(5_000);
  expect(lagS(log({ headSize: '101', entryAt: null }), now)).toBe(9_000);
});

it('is zero at the end of a log that accepts no more submissions', () => {
  for (const change of [{ listState: 'readonly' }, { listState: 'retired' }, { intervalEnd: ago(1) }]) {
    expect(lagS(log({ ...change, headAt: ago(1e6) }), now)).toBe(0);
    expect(lagS(log({ ...change, headSize: '101' }), now)).toBe(5_000);
  }
});
