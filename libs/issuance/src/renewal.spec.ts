import type { Paid } from './purchase';
import {
  earliestRenewal,
  nextReplacement,
  nextWindowLook,
  purchaseTime,
  renewalTimeIn,
  renewalDecision,
  type RenewalInputs,
  renewalJitter,
  renewalTime,
} from './renewal';

const dayMs = 86_400_000;
const notBefore = new Date('2026-11-20T00:00:00Z');
const lasting = (days: number) => ({ notBefore, notAfter: new Date(notBefore.getTime() + days * dayMs) });
const leftDays = (days: number, jitter: number) =>
  (lasting(days).notAfter.getTime() - renewalTime(lasting(days), jitter).getTime()) / dayMs;

describe('renewalTime', () => {
  it('is when one third of the lifetime is left', () => {
    expect(leftDays(90, 0)).toBeCloseTo(30, 6);
    expect(leftDays(365, 0)).toBeCloseTo(365 / 3, 6);
    expect(leftDays(10, 0)).toBeCloseTo(10 / 3, 6);
  });

  it('is at half of a lifetime under 10 days', () => {
    expect(leftDays(9, 0)).toBeCloseTo(4.5, 6);
    expect(leftDays(1, 0)).toBeCloseTo(0.5, 6);
  });

  it('is brought forward by the jitter, by at most 3 % of the lifetime, and never delayed', () => {
    for (const days of [1, 6, 10, 47, 90, 200, 365]) {
      for (const jitter of [0, 0.25, 0.5, 0.999_999]) {
        expect(leftDays(days, jitter)).toBeGreaterThanOrEqual(leftDays(days, 0));
        expect(leftDays(days, jitter)).toBeLessThan(leftDays(days, 0) + days * 0.03 + 1e-6);
      }
    }
  });
});

describe('renewalJitter', () => {
  it('lies in [0, 1), is evenly distributed, and is fixed per certificate', () => {
    const jitters = Array.from({ length: 1_000 }, (_, index) =>
      renewalJitter(String(BigInt(index) * 281_474_976_710n + 12_345n)),
    );
    expect(Math.min(...jitters)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...jitters)).toBeLessThan(1);
    const tenths = new Set(jitters.map((jitter) => Math.floor(jitter * 10)));
    expect(tenths.size).toBe(10);
    expect(renewalJitter('281474976710655')).toBe(renewalJitter('281474976710655'));
  });
});

describe('purchaseTime', () => {
  const leftAt = (lifetime: number, jitter: number, termDays: number | null = null) =>
    (lasting(lifetime).notAfter.getTime() - purchaseTime(lasting(lifetime), termDays, jitter).getTime()) /
    dayMs;

  it('is 30 days before the end, or a third of a shorter lifetime', () => {
    expect(leftAt(365, 0)).toBeCloseTo(30, 6);
    expect(leftAt(90, 0)).toBeCloseTo(30, 6);
    expect(leftAt(45, 0)).toBeCloseTo(15, 6);
  });

  it.each([
    [365, 365, 30],
    [20, 365, 30],
    [20, 60, 20],
    [47, 365, 30],
  ])('of a certificate of %d days in a term of %d days is %d days before the end', (lifetime, term, left) => {
    expect(leftAt(lifetime, 0, term)).toBeCloseTo(left, 6);
  });

  it('is delayed by the jitter, by at most 3 % of that', () => {
    for (const lifetime of [1, 45, 365]) {
      for (const jitter of [0.25, 0.999_999]) {
        expect(leftAt(lifetime, jitter)).toBeLessThan(leftAt(lifetime, 0));
        expect(leftAt(lifetime, jitter)).toBeGreaterThan(leftAt(lifetime, 0) * 0.969);
      }
    }
  });
});

describe('nextReplacement', () => {
  const current = { id: '1048576', ...lasting(90) };
  const paid = (days: number) => ({ through: lasting(days).notAfter, product: 'paid_ca' });
  const own = { product: 'paid_ca' };

  it('is at a third of the lifetime when the product is not sold by time', () => {
    expect(nextReplacement(current, { own: null, paid: null, termDays: null })).toEqual({
      renewAt: renewalTime(current, 0),
      isPaid: false,
    });
  });

  it('is at a third of the lifetime and paid when the term continues', () => {
    expect(nextReplacement(current, { own, paid: paid(365), termDays: 365 })).toEqual({
      renewAt: renewalTime(current, 0),
      isPaid: true,
    });
  });

  it.each([
    ['the certificate is the last of its term', paid(90), 365],
    ['the certificate outlives its term', paid(60), 365],
    ['nothing is paid', null, null],
    ['another product is paid', { ...paid(90), product: 'paid_ev_ca' }, null],
  ])('is at the time of purchase where %s', (_, standing, ofTerm) => {
    expect(nextReplacement(current, { own, paid: standing, termDays: 365 })).toEqual({
      renewAt: purchaseTime(current, ofTerm, 0),
      isPaid: false,
    });
  });

  it('is no later for a certificate that was reissued in the last days of its term', () => {
    const reissued = { ...current, ...lasting(20) };
    const { renewAt } = nextReplacement(reissued, { own, paid: paid(20), termDays: 365 });
    expect(renewAt.getTime()).toBeLessThan(notBefore.getTime());
  });
});

describe('renewalDecision', () => {
  const now = new Date('2027-01-20T00:00:00Z');
  const inMinutes = (minutes: number) => new Date(now.getTime() + minutes * 60_000);
  const inDays = (days: number) => inMinutes(days * 24 * 60);
  const current = { id: '1048576', ...lasting(90), windowEnd: null };
  const present = { id: '1', product: 'free_ca', dnsNames: ['a.org'], termDays: null, isAvailable: true };
  const inputs: RenewalInputs = {
    autoRenew: true,
    present,
    own: null,
    paid: null,
    open: null,
    current,
    replacement: { issued: false, failures: 0, failedAt: null },
    newKey: null,
  };
  const decide = (change: Partial<RenewalInputs>) => renewalDecision({ ...inputs, ...change }, now);
  const failed = (failures: number, minutesAgo: number) =>
    decide({ replacement: { issued: false, failures, failedAt: inMinutes(-minutesAgo) } });
  const replace = { kind: 'replace', termsId: '1', expiresBy: null, lookAgainAt: inMinutes(1) };

  it('replaces the current certificate, and checks the result a minute later', () => {
    expect(decide({})).toEqual(replace);
  });

  describe('of a plan whose owner makes keys', () => {
    const newKey = { atRenewal: true, isKeyOfCurrent: true, request: null };
    const withKey = (change: Partial<typeof newKey> | object, others: Partial<RenewalInputs> = {}) =>
      decide({ newKey: { ...newKey, ...change }, ...others });
    const requested = (dueMinutesAgo: number, fallsBackInMinutes: number | null) => ({
      request: {
        dueAt: inMinutes(-dueMinutesAgo),
        fallsBackAt: fallsBackInMinutes === null ? null : inMinutes(fallsBackInMinutes),
      },
    });
    const endsIn = (hours: number) => ({ ...current, notAfter: inMinutes(hours * 60) });

    it('requests a new key first, and checks again after an hour or a tenth of the remaining time', () => {
      expect(withKey({})).toEqual({ kind: 'request_key', lookAgainAt: inMinutes(60) });
      expect(withKey({}, { current: endsIn(5) })).toEqual({
        kind: 'request_key',
        lookAgainAt: inMinutes(30),
      });
    });

    it('waits for the key that is requested, and goes on with the present one when the time is over', () => {
      expect(withKey(requested(1, 59))).toEqual({ kind: 'wait', lookAgainAt: inMinutes(59) });
      expect(withKey(requested(60, 0))).toEqual(replace);
    });

    it('goes on at once with a key that the current certificate does not have', () => {
      expect(withKey({ isKeyOfCurrent: false })).toEqual(replace);
      expect(withKey({ isKeyOfCurrent: false, ...requested(1, 59) })).toEqual(replace);
    });

    it('requests none when the owner does not want one at renewals', () => {
      expect(withKey({ atRenewal: false })).toEqual(replace);
    });

    it('waits as long for a key that was requested for another reason', () => {
      expect(withKey(requested(20, null))).toEqual({ kind: 'wait', lookAgainAt: inMinutes(40) });
      expect(withKey(requested(61, null))).toEqual(replace);
    });

    it('requests a key before it buys a term', () => {
      const sold = { ...present, product: 'paid_ca', termDays: 365 };
      const last = { present: sold, current: endsIn(24) };
      expect(withKey({}, last)).toEqual({ kind: 'request_key', lookAgainAt: inMinutes(60) });
      expect(withKey(requested(60, 0), last)).toMatchObject({ kind: 'purchase' });
    });

    it('keeps the key of paid terms while changes are not paid, and without automatic renewal', () => {
      const paid = { through: inDays(200), product: 'paid_ca', names: 1, wildcards: 0 };
      const own = { id: '7', product: 'paid_ca', dnsNames: ['a.org'] };
      const unpaid = { ...present, product: 'paid_ca', dnsNames: ['a.org', 'b.org'], termDays: 365 };
      expect(withKey({}, { present: unpaid, own, paid })).toMatchObject({ kind: 'replace', termsId: '7' });
      expect(withKey({}, { present: unpaid, own, paid, autoRenew: false })).toMatchObject({ termsId: '7' });
    });
  });

  it('waits while an issuance is open, and checks again after a quarter of its age, at most an hour', () => {
    const openFor = (minutes: number) => decide({ open: { openedAt: inMinutes(-minutes) } });
    expect(openFor(0)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(1) });
    expect(openFor(40)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(10) });
    expect(openFor(10_000)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(60) });
    expect(openFor(-5)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(1) });
  });

  it('waits while the CSR is missing', () => {
    expect(decide({ present: null })).toEqual({ kind: 'wait', lookAgainAt: inMinutes(60) });
  });

  it('replaces a certificate once', () => {
    expect(decide({ replacement: { issued: true, failures: 1, failedAt: now } })).toEqual({ kind: 'rest' });
    expect(decide({ current: null })).toEqual({ kind: 'rest' });
  });

  it('tries again after 1 minute, 10 minutes, 100 minutes', () => {
    expect(failed(1, 0.5)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(0.5) });
    expect(failed(1, 1)).toEqual(replace);
    expect(failed(2, 9)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(1) });
    expect(failed(2, 10)).toEqual(replace);
    expect(failed(3, 99)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(1) });
    expect(failed(3, 100)).toEqual(replace);
  });

  it('later waits for at most a day, and at most a tenth of the remaining time', () => {
    expect(failed(7, 1)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(24 * 60 - 1) });
    expect(failed(7, 24 * 60)).toEqual(replace);
    const hourLeft = { ...current, notAfter: inMinutes(60) };
    expect(
      decide({ current: hourLeft, replacement: { issued: false, failures: 7, failedAt: inMinutes(-7) } }),
    ).toEqual(replace);
  });

  describe('of a certificate that has expired without a successor', () => {
    const lapsed = { ...current, notAfter: inMinutes(-60) };

    it('is made, with the present key, and tried again after a day at most', () => {
      expect(decide({ current: lapsed })).toEqual(replace);
      const newKey = { atRenewal: true, isKeyOfCurrent: true, request: null };
      expect(decide({ current: lapsed, newKey })).toEqual(replace);
      const failures = (count: number, minutesAgo: number) =>
        decide({
          current: lapsed,
          replacement: { issued: false, failures: count, failedAt: inMinutes(-minutesAgo) },
        });
      expect(failures(1, 0)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(1) });
      expect(failures(4, 60)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(23 * 60) });
      expect(failures(4, 24 * 60)).toEqual(replace);
    });

    it('is not bought, and made within a term that is paid', () => {
      const sold = { ...present, product: 'paid_ca', termDays: 365 };
      const own = { id: '7', product: 'paid_ca', dnsNames: ['a.org'] };
      const paid: Paid = { through: inDays(200), product: 'paid_ca', names: 1, wildcards: 0 };
      const sent = { current: lapsed, present: sold, own };
      expect(decide({ ...sent, paid: { ...paid, through: lapsed.notAfter } })).toEqual({ kind: 'rest' });
      expect(decide({ ...sent, paid: null })).toEqual({ kind: 'rest' });
      expect(decide({ ...sent, paid })).toEqual({ ...replace, termsId: sold.id, expiresBy: inDays(200) });
    });
  });

  describe('of a product that is sold by time', () => {
    const sold = { ...present, product: 'paid_ca', termDays: 365 };
    const own = { id: '7', product: 'paid_ca', dnsNames: ['a.org'] };
    const paid: Paid = { through: inDays(200), product: 'paid_ca', names: 1, wildcards: 0 };
    /** The last certificate of its term, so many days before its end. */
    const last = (left: number): Partial<RenewalInputs> => ({
      present: sold,
      own,
      current: { id: '1048576', notBefore: inDays(left - 365), notAfter: inDays(left), windowEnd: null },
      paid: { ...paid, through: inDays(left) },
    });
    const purchase = { kind: 'purchase', lookAgainAt: inMinutes(60) };

    it.each([
      [true, 'the present terms', sold.id],
      [false, 'its own terms', own.id],
    ])('replaces inside the term without charge, with auto_renew %s from %s', (autoRenew, _, termsId) => {
      expect(decide({ autoRenew, present: sold, own, paid })).toEqual({
        ...replace,
        termsId,
        expiresBy: inDays(200),
      });
    });

    it('uses the certificate’s own terms when the current ones are not paid', () => {
      const more = { ...sold, dnsNames: ['a.org', 'b.org'] };
      expect(decide({ autoRenew: false, present: more, own, paid })).toEqual({
        ...replace,
        termsId: '7',
        expiresBy: inDays(200),
      });
    });

    it('buys a term when the last certificate of one has 30 days left, and checks the result within the hour', () => {
      expect(decide(last(29))).toEqual(purchase);
      expect(decide(last(45))).toEqual({ kind: 'wait', lookAgainAt: inDays(15) });
    });

    it('buys nothing without auto_renew', () => {
      expect(decide({ ...last(29), autoRenew: false })).toEqual({ kind: 'unwanted' });
    });

    it('buys nothing while the product is unavailable', () => {
      const inputs = { ...last(29), present: { ...sold, isAvailable: false } };
      expect(decide(inputs)).toEqual({ kind: 'wait', lookAgainAt: inMinutes(60) });
    });

    it('buys a term for a certificate that was issued elsewhere, when it is due', () => {
      expect(decide({ ...last(29), own: null, paid: null })).toEqual(purchase);
      expect(decide({ ...last(45), own: null, paid: null })).toMatchObject({ kind: 'wait' });
    });

    it('buys a term when the paid product differs from the product of the certificate', () => {
      const free = { ...own, product: 'free_ca' };
      expect(decide({ ...last(29), own: free, paid })).toEqual(purchase);
    });

    it('does not wait for a purchase when the CA suggests an earlier replacement', () => {
      const inputs = last(45);
      const urgent = { ...inputs, current: { ...current, ...inputs.current, windowEnd: inDays(1) } };
      expect(decide(urgent)).toEqual({ ...replace, expiresBy: inDays(45) });
      const usual = { ...inputs, current: { ...current, ...inputs.current, windowEnd: inDays(16) } };
      expect(decide(usual)).toMatchObject({ kind: 'wait' });
      expect(decide({ ...urgent, paid: null })).toMatchObject({ kind: 'wait' });
    });

    it('tries a purchase again with the same back-off', () => {
      const replacement = { issued: false, failures: 2, failedAt: inMinutes(-9) };
      expect(decide({ ...last(29), replacement })).toEqual({ kind: 'wait', lookAgainAt: inMinutes(1) });
    });

    it('replaces as before when the order has changed to a product that is not sold by time', () => {
      expect(decide({ own, paid: { ...paid, through: current.notAfter } })).toEqual(replace);
      expect(decide({ own: { ...own, product: 'free_ca' }, paid, autoRenew: false })).toEqual({
        kind: 'unwanted',
      });
    });
  });
});

describe('the window of a CA', () => {
  const now = new Date('2026-11-20T12:00:00Z');
  const inHours = (hours: number) => new Date(now.getTime() + hours * 3_600_000);

  const bounds = { earliest: inHours(-1_000), latest: inHours(1_000) };

  it('returns an evenly distributed point of it', () => {
    const window = { start: inHours(10), end: inHours(20) };
    expect(renewalTimeIn(window, 0, now, bounds)).toEqual(inHours(10));
    expect(renewalTimeIn(window, 0.5, now, bounds)).toEqual(inHours(15));
  });

  it('means now when the window or the chosen point lies in the past', () => {
    expect(renewalTimeIn({ start: inHours(-20), end: inHours(-10) }, 0.9, now, bounds)).toEqual(now);
    expect(renewalTimeIn({ start: inHours(-10), end: inHours(10) }, 0.1, now, bounds)).toEqual(now);
  });

  it('never delays a renewal beyond the time derived from the lifetime or the end of validity', () => {
    const validity = { notBefore: inHours(-24 * 30), notAfter: inHours(24 * 60) };
    const bounded = { ...bounds, latest: renewalTime(validity, 0.5) };
    for (const window of [
      { start: inHours(24 * 61), end: inHours(24 * 70) },
      { start: inHours(24 * 58), end: inHours(24 * 59) },
    ]) {
      expect(renewalTimeIn(window, 0.5, now, bounded)).toEqual(bounded.latest);
    }
    const across = { start: inHours(1), end: inHours(24 * 365) };
    expect(renewalTimeIn(across, 0, now, bounded)).toEqual(inHours(1));
    expect(renewalTimeIn(across, 0.9, now, bounded)).toEqual(bounded.latest);
    expect(renewalTimeIn(across, 0.9, now, { ...bounds, latest: inHours(-5) })).toEqual(now);
  });

  it('is followed at once, but after an early replacement from a third of the lifetime on, unless the CA brings it forward', () => {
    const validity = { notBefore: inHours(-1), notAfter: inHours(29), replacedEarly: true };
    const third = inHours(9);
    const [past, ahead] = [
      { start: inHours(-3), end: inHours(-2) },
      { start: inHours(19), end: inHours(20) },
    ];
    const earliest = earliestRenewal(validity, past, null, now);
    expect(earliest).toEqual(third);
    expect(earliestRenewal({ ...validity, replacedEarly: false }, past, null, now)).toEqual(now);
    expect(renewalTimeIn(past, 0.5, now, { ...bounds, earliest })).toEqual(third);
    expect(renewalTimeIn(ahead, 0, now, { ...bounds, earliest })).toEqual(ahead.start);
    expect(earliestRenewal(validity, past, ahead, now)).toEqual(now);
    // Windows that follow the clock are not brought forward.
    expect(earliestRenewal(validity, past, { start: inHours(-5), end: inHours(-4) }, now)).toEqual(third);
    expect(earliestRenewal(validity, past, { start: inHours(-2), end: inHours(-1) }, now)).toEqual(third);
    const soon = { start: inHours(1), end: inHours(2) };
    expect(earliestRenewal(validity, soon, { start: inHours(0.5), end: inHours(1.5) }, now)).toEqual(third);
  });

  it('is polled at growing intervals, between a minute and a day', () => {
    const waits = [1, 2, 3, 4, 20].map(
      (failures) => nextWindowLook(failures, now, null).getTime() - now.getTime(),
    );
    expect(waits).toEqual([60_000, 240_000, 960_000, 3_840_000, 86_400_000]);
    expect(nextWindowLook(1, now, inHours(2))).toEqual(inHours(2));
    expect(nextWindowLook(1, now, inHours(200))).toEqual(inHours(24));
  });
});
