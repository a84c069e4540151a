import { chargeFor, type Paid, type PurchaseKind, type SoldProduct } from './purchase';
import { paidWithout, takeOver, type UnusedCharge } from './purchase-takeover';

const dayMs = 86_400_000;
const now = new Date('2026-11-20T12:00:00Z');
const days = (count: number) => new Date(now.getTime() + count * dayMs);
const product: SoldProduct = {
  name: 'paid_ca',
  termDays: 365,
  priceCents: 100,
  wildcardPriceCents: 500,
  currency: 'USD',
};
const other = { ...product, name: 'paid_ev_ca' };

/** Buys one after the other, and leads to no certificate. */
function unusedAfter(
  ...steps: readonly { readonly kind: PurchaseKind; readonly names: number; readonly sold?: SoldProduct }[]
): { readonly charges: readonly UnusedCharge[]; readonly paid: Paid | null } {
  let paid: Paid | null = null;
  const charges: UnusedCharge[] = [];
  for (const [index, { kind, names, sold = product }] of steps.entries()) {
    const dnsNames = Array.from({ length: names }, (_, name) => `n${name}.example.com`);
    const { purchase, expiresBy } = chargeFor(kind, { product: sold, dnsNames, paid, now });
    if (purchase === null) continue;
    charges.push({ id: String(index + 1), before: paid, paid: purchase.paid, expiresBy });
    paid = purchase.paid;
  }
  return { charges, paid };
}
const take = (kind: PurchaseKind, sold: SoldProduct, { charges, paid }: ReturnType<typeof unusedAfter>) =>
  takeOver(kind, sold, paid, charges, now);

describe('unused charges', () => {
  const bought = unusedAfter({ kind: 'term', names: 1 }, { kind: 'as_paid', names: 3 });

  it('serve the next issuance of the running term', () => {
    expect(take('as_paid', product, bought)).toEqual({
      carried: bought.charges,
      refunded: [],
      paid: bought.paid,
    });
  });

  it('are all refunded before a term is bought, which restores the previous paid term', () => {
    expect(take('term', product, bought)).toEqual({ carried: [], refunded: bought.charges, paid: null });
  });

  it('are refunded when the product is another one', () => {
    expect(take('as_paid', other, bought)).toEqual({ carried: [], refunded: bought.charges, paid: null });
  });

  it('are refunded when the term that they paid was ended, which stays ended', () => {
    expect(take('as_paid', product, { charges: bought.charges, paid: null })).toEqual({
      carried: [],
      refunded: bought.charges,
      paid: null,
    });
  });

  it('are refunded when a running term is renewed, and carried over when it is not yet time for that', () => {
    expect(take('renewal', product, bought).refunded).toEqual([]);
    const paid: Paid = { through: days(20), product: 'paid_ca', names: 1, wildcards: 0 };
    const added = { ...paid, names: 3 };
    const charge = { id: '1', before: paid, paid: added, expiresBy: days(20) };
    expect(takeOver('renewal', product, added, [charge], now)).toEqual({
      carried: [],
      refunded: [charge],
      paid,
    });
  });
});

describe('the paid term without some charges', () => {
  it('is the one before the oldest of them', () => {
    const { charges, paid } = unusedAfter(
      { kind: 'term', names: 1 },
      { kind: 'as_paid', names: 3 },
      { kind: 'term', names: 3 },
    );
    expect(paidWithout(charges, paid)).toBeNull();
    expect(paidWithout(charges.slice(1), paid)).toEqual(charges[0]?.paid);
    expect(paidWithout(charges.slice(2), paid)).toEqual(charges[1]?.paid);
  });

  it('is unchanged when the charge was not the last to set it', () => {
    const { charges, paid } = unusedAfter({ kind: 'term', names: 1 }, { kind: 'as_paid', names: 3 });
    expect(paidWithout(charges.slice(0, 1), paid)).toBe(paid);
    expect(paidWithout(charges, null)).toBeNull();
    const ended = { product: 'paid_ca', through: days(3), names: 0, wildcards: 0 };
    expect(paidWithout(charges, ended)).toBe(ended);
  });
});
