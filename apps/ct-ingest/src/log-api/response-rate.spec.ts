import { ResponseRate, rateWindowMs } from './response-rate';
import { LogUnavailable } from './log-faults';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const reasonOf = ({ signal }: ResponseRate): string | null =>
  signal.aborted ? (signal.reason as LogUnavailable).message : null;

it('aborts a response that does not begin in time', () => {
  const rate = new ResponseRate(100, 5_000);
  jest.advanceTimersByTime(4_999);
  expect(reasonOf(rate)).toBeNull();
  jest.advanceTimersByTime(1);
  expect(rate.signal.reason).toBeInstanceOf(LogUnavailable);
  expect(reasonOf(rate)).toBe('There was no response within 5000 ms.');
});

it.each([
  ['drips', 1],
  ['stalls', 0],
])('cuts off a response that begins and then %s', (_, bytes) => {
  const rate = new ResponseRate(100, 5_000);
  rate.received(1_000_000);
  jest.advanceTimersByTime(rateWindowMs);
  expect(reasonOf(rate)).toBeNull();
  for (let second = 0; second < rateWindowMs / 1_000; second += 1) {
    rate.received(bytes);
    jest.advanceTimersByTime(1_000);
  }
  expect(reasonOf(rate)).toBe(`The response was cut off: it came at ${bytes} bytes a second, less than 100.`);
});

it('does not abort a response at the minimum rate, however long it takes, or one that has ended', () => {
  const rate = new ResponseRate(100, 5_000);
  for (let second = 0; second < 300; second += 1) {
    rate.received(100);
    jest.advanceTimersByTime(1_000);
  }
  rate.end();
  jest.advanceTimersByTime(10 * rateWindowMs);
  expect(reasonOf(rate)).toBeNull();
});
