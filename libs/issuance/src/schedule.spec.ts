import {
  dueAfterModification,
  nextAfterStall,
  nextApprovalCheck,
  nextAttempt,
  nextUnexpectedAttempt,
} from './schedule';

const now = new Date('2026-11-20T12:00:00Z');
const s = 1_000;
const min = 60 * s;
const hour = 60 * min;
const day = 24 * hour;
const ago = (ms: number) => new Date(now.getTime() - ms);
const ahead = (date: Date) => date.getTime() - now.getTime();

describe('nextApprovalCheck', () => {
  it.each([
    [0, 3 * s],
    [10 * s, 3 * s],
    [min, 15 * s],
    [hour, 15 * min],
    [29 * day, hour],
    [-hour, 3 * s],
  ])('an issuance %d ms old is looked at again after %d ms', (age, wait) => {
    expect(ahead(nextApprovalCheck(ago(age), now))).toBe(wait);
  });
});

describe('nextAttempt', () => {
  it.each([
    [1, min],
    [2, 10 * min],
    [3, 100 * min],
    [4, day],
    [400, day],
  ])('backs off after failure %d for %d ms', (failures, wait) => {
    expect(ahead(nextAttempt(failures, now, null))).toBe(wait);
  });

  it('waits at most a tenth of the remaining time of the certificate in use', () => {
    expect(ahead(nextAttempt(4, now, new Date(now.getTime() + 5 * day)))).toBe(day / 2);
  });

  it('keeps a minimum delay when no time is left', () => {
    expect(ahead(nextAttempt(9, now, ago(day)))).toBe(min);
  });
});

describe('nextUnexpectedAttempt', () => {
  it.each([
    [1, min],
    [2, 10 * min],
    [9, 10 * min],
  ])('backs off after failure %d for %d ms, and never for hours', (failures, wait) =>
    expect(ahead(nextUnexpectedAttempt(failures, now))).toBe(wait),
  );
});

describe('nextAfterStall', () => {
  it.each([
    [0, 3 * s],
    [40 * s, 10 * s],
    [10 * min, min],
  ])('after stalls for %d ms waits about %d ms, spread by a quarter', (age, wait) => {
    const next = (random: number) => ahead(nextAfterStall(ago(age), now, random) ?? now);
    expect([next(0), next(0.5), next(1)]).toEqual([0.75 * wait, wait, 1.25 * wait]);
  });

  it('is a failure of the order once it has lasted for long', () =>
    expect(nextAfterStall(ago(15 * min + 1), now, 0)).toBeNull());
});

describe('dueAfterModification', () => {
  const settlingMs = 10 * s;

  it('waits for the settling window', () => {
    expect(ahead(dueAfterModification(now, settlingMs, null))).toBe(settlingMs);
  });

  it('makes one certificate of several modifications: the window starts with the first', () => {
    const first = dueAfterModification(now, settlingMs, null);
    const second = dueAfterModification(new Date(now.getTime() + 9 * s), settlingMs, first);
    expect(second).toEqual(first);
  });

  it('begins a new window when the superseded issuance had begun', () => {
    expect(ahead(dueAfterModification(now, settlingMs, ago(1)))).toBe(settlingMs);
  });

  it('does not wait for the late next check of the superseded issuance', () => {
    expect(ahead(dueAfterModification(now, settlingMs, new Date(now.getTime() + hour)))).toBe(settlingMs);
  });
});
