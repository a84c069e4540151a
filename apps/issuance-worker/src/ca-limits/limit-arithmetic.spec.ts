import fc from 'fast-check';
import type { CaLimit } from '@certwright/core-schema';
import { longestWait, spentForS, spentToWait, stillSpent } from './limit-arithmetic';

const limits = fc.record({
  count: fc.integer({ min: 1, max: 500 }),
  perS: fc.integer({ min: 1, max: 700_000 }),
});

/** A CA with one limit on orders and our accounts there, with a simulated clock. */
class Orders {
  private nowS = 0;
  private spent = 0;
  private readonly had = new Map<string, number>();

  constructor(private readonly limit: CaLimit) {}

  /** @returns seconds to wait; 0: taken */
  take(account: string): number {
    const { limit, spent } = this;
    const had = this.had.get(account) ?? 0;
    const wait = longestWait([
      { kind: 'newOrders', key: '', limit, spent },
      { kind: 'shareOfNewOrders', key: account, limit, spent: had },
    ]);
    if (wait !== null) return wait.seconds;
    this.spent += 1;
    this.had.set(account, had + 1);
    return 0;
  }

  /** @returns number of takes until it has to wait */
  takeAll(account: string): number {
    for (let count = 0; ; count += 1) if (this.take(account) > 0) return count;
  }

  pass(seconds: number): void {
    this.nowS += seconds;
    this.spent = stillSpent('newOrders', this.limit, this.spent, seconds);
    for (const [account, had] of this.had)
      this.had.set(account, stillSpent('shareOfNewOrders', this.limit, had, seconds));
  }
}

const wait = (limit: CaLimit, spent: number) =>
  longestWait([{ kind: 'perNameSet', key: 'x', limit, spent }])?.seconds ?? 0;

it('never grants more than the count and the refill since', () => {
  fc.assert(
    fc.property(
      limits,
      fc.array(fc.double({ min: 0, max: 2, noNaN: true }), { maxLength: 60 }),
      (limit, rests) => {
        let [spent, taken, passedS] = [0, 0, 0];
        for (const rest of rests) {
          const seconds = (rest * limit.perS) / limit.count;
          spent = stillSpent('perNameSet', limit, spent, seconds);
          passedS += seconds;
          while (wait(limit, spent) === 0) [spent, taken] = [spent + 1, taken + 1];
          expect(taken).toBeLessThanOrEqual(limit.count + (passedS * limit.count) / limit.perS + 1e-3);
        }
      },
    ),
  );
});

it('grants a token after the wait, and not before', () => {
  fc.assert(
    fc.property(limits, fc.double({ min: 0, max: 2_000, noNaN: true }), (limit, spent) => {
      const seconds = wait(limit, spent);
      const after = (part: number) => wait(limit, stillSpent('perNameSet', limit, spent, seconds * part));
      expect(after(1)).toBe(0);
      if (seconds > limit.perS / limit.count / 100) expect(after(0.99)).toBeGreaterThan(0);
    }),
  );
});

it('waits as long as the CA requests', () => {
  fc.assert(
    fc.property(limits, fc.integer({ min: 1, max: 1_000_000 }), (limit, seconds) => {
      expect(wait(limit, spentToWait(limit, seconds))).toBeCloseTo(seconds, 1);
    }),
  );
});

it('refills nothing when the clock goes backwards', () => {
  expect(stillSpent('newOrders', { count: 1, perS: 1 }, 5, -10)).toBe(5);
});

it('deletes a bucket when its spent amount is zero', () => {
  const limit = { count: 10, perS: 100 };
  expect(spentForS({ kind: 'perNameSet', key: '', limit, spent: 3 })).toBe(30);
  expect(spentForS({ kind: 'shareOfNewOrders', key: '', limit, spent: 0 })).toBe(0);
  const seconds = spentForS({ kind: 'shareOfNewOrders', key: '', limit, spent: 3 });
  expect(stillSpent('shareOfNewOrders', limit, 3, seconds)).toBeCloseTo(0.01);
});

describe('of one limit on orders', () => {
  const limit = { count: 300, perS: 10_800 };

  it('a single account gets half at once, and the other half is left for others', () => {
    const orders = new Orders(limit);
    expect(orders.takeAll('greedy')).toBe(150);
    expect(orders.take('late')).toBe(0);
  });

  it.each([1, 2, 3, 10])('%i greedy accounts get equal shares, and leave one such share', (count) => {
    const orders = new Orders(limit);
    const accounts = Array.from({ length: count }, (_, index) => `a${index}`);
    const taken = new Map<string, number>();
    for (let round = 0; round < 300; round += 1)
      for (const account of accounts)
        if (orders.take(account) === 0) taken.set(account, (taken.get(account) ?? 0) + 1);
    for (const each of taken.values()) expect(Math.abs(each - 300 / (count + 1))).toBeLessThanOrEqual(1);
  });

  it.each([1, 3])('%i accounts with constant demand use the full rate, evenly', (count) => {
    const orders = new Orders(limit);
    const taken = new Array<number>(count).fill(0);
    const days = 3;
    for (let seconds = 0; seconds < days * 86_400; seconds += 36) {
      orders.pass(36);
      for (const account of taken.keys())
        taken[account] = (taken[account] ?? 0) + orders.takeAll(String(account));
    }
    const rate = (days * 86_400 * limit.count) / limit.perS;
    const all = taken.reduce((one, other) => one + other);
    expect(all / rate).toBeGreaterThan(0.95);
    expect(Math.max(...taken) - Math.min(...taken)).toBeLessThan(0.02 * rate);
  });

  it('returns when the share of an account has a token again', () => {
    const orders = new Orders(limit);
    orders.takeAll('greedy');
    const seconds = orders.take('greedy');
    expect(seconds).toBeGreaterThan(0);
    orders.pass(seconds - 0.01);
    expect(orders.take('greedy')).toBeGreaterThan(0);
    orders.pass(0.01);
    expect(orders.take('greedy')).toBe(0);
  });
});
