import { CorrectedClock } from './corrected-clock';

const hourMs = 3_600_000;
const server = Date.UTC(2026, 10, 24, 12);

/** A host whose clock is wrong by `errorMs`, `sinceMs` after the response of the server. */
const host = { errorMs: 0, sinceMs: 0 };
const newClock = () =>
  new CorrectedClock(
    () => new Date(server + host.sinceMs + host.errorMs),
    () => 1_000 + host.sinceMs,
  );
beforeEach(() => Object.assign(host, { errorMs: 0, sinceMs: 0 }));

it.each([
  ['corrected', -hourMs, 0],
  ['set to a wrong time', 0, hourMs],
])('a clock of the host that is %s between two responses changes nothing', (_, before, after) => {
  host.errorMs = before;
  const clock = newClock();
  expect(clock.observe(new Date(server).toUTCString())).toBe(true);
  expect(clock.problem() === null).toBe(before === 0);
  Object.assign(host, { errorMs: after, sinceMs: 40_000 });
  expect(clock.now()).toEqual(new Date(server + 40_000));
  expect(clock.problem() === null).toBe(after === 0);
});

it('is the clock of the host before the first response', () => {
  host.errorMs = hourMs;
  expect(newClock().now()).toEqual(new Date(server + hourMs));
});
