import { nextTry, reasons, retryWaitsMs, type TryOutcome } from './next-try';

const now = new Date('2026-11-20T12:00:00Z');
const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
const sound = { failingSince: null, failedAt: null };
const failed: TryOutcome = { kind: 'failed', retryAfterMs: null };
const failedWith = (retryAfterMs: number): TryOutcome => ({ kind: 'failed', retryAfterMs });
const after = (
  attempts: number,
  outcome: TryOutcome,
  health: Parameters<typeof nextTry>[2] = sound,
  random = 0,
) => nextTry({ attempts, isTest: false }, outcome, health, now, random);
const waitMs = (followed: ReturnType<typeof nextTry>) =>
  followed.delivery.state === 'pending' ? followed.delivery.dueAt.getTime() - now.getTime() : null;

describe('the outcome of an attempt', () => {
  it.each([
    [1, '5 s', 5],
    [2, '5 min', 300],
    [3, '30 min', 1_800],
    [4, '2 h', 7_200],
    [5, '5 h', 18_000],
    [6, '10 h', 36_000],
    [7, '14 h', 50_400],
    [8, '20 h', 72_000],
    [9, '24 h', 86_400],
  ])('after failure %i the next attempt comes in %s', (attempts, _, seconds) => {
    expect(waitMs(after(attempts, failed))).toBe(seconds * 1_000);
  });

  it('adds up to a tenth, and never shortens a delay', () => {
    expect(waitMs(after(2, failed, sound, 0.999_999))).toBeCloseTo(330_000, -2);
  });

  it('ends after ten attempts, and disables the endpoint', () => {
    expect(retryWaitsMs).toHaveLength(9);
    expect(after(10, failed)).toMatchObject({
      delivery: { state: 'failed' },
      disabledReason: reasons.outOfTries,
    });
  });

  it.each([
    ['honours Retry-After beyond the schedule', 1, 60_000, 60_000],
    ['keeps to the schedule when Retry-After is shorter', 4, 60_000, 7_200_000],
  ])('%s', (_, attempts, retryAfter, expected) => {
    expect(waitMs(after(attempts, failedWith(retryAfter)))).toBe(expected);
  });

  it('disables an endpoint at once that returns 410', () => {
    expect(after(1, { kind: 'gone' })).toMatchObject({
      delivery: { state: 'failed' },
      disabledReason: reasons.gone,
    });
  });

  it('resets all failures with one success', () => {
    expect(after(3, { kind: 'delivered' }, { failingSince: ago(100), failedAt: ago(1) })).toEqual({
      delivery: { state: 'delivered' },
      health: sound,
      disabledReason: null,
    });
  });

  it.each([
    ['begins with the first failure', sound, now],
    ['continues with the next one', { failingSince: ago(50), failedAt: ago(24) }, ago(50)],
    [
      'starts again when nothing was tried for longer than the longest wait',
      { failingSince: ago(50), failedAt: ago(31) },
      now,
    ],
  ])('a period of failures %s', (_, health, since) => {
    expect(after(1, failed, health).health).toEqual({ failingSince: since, failedAt: now });
  });

  it.each([
    [
      'off when it failed for five days, although deliveries were superseded meanwhile',
      120,
      reasons.failingForDays,
    ],
    ['not off before', 119.9, null],
  ])('switches an endpoint %s', (_, hours, reason) => {
    expect(after(1, failed, { failingSince: ago(hours), failedAt: ago(1) }).disabledReason).toBe(reason);
  });

  it('tries a test event once, without counting a failure', () => {
    const health = { failingSince: ago(130), failedAt: ago(1) };
    expect(nextTry({ attempts: 1, isTest: true }, failed, health, now, 0)).toEqual({
      delivery: { state: 'failed' },
      health,
      disabledReason: null,
    });
  });
});
