import { chargeFor, type Paid, type PurchaseKind, type SoldProduct } from './purchase';

const dayMs = 86_400_000;
const now = new Date('2026-11-20T12:00:00Z');
const days = (count: number) => new Date(now.getTime() + count * dayMs);

const product: SoldProduct = {
  name: 'paid_ca',
  termDays: 365,
  priceCents: 1_000,
  wildcardPriceCents: 9_999,
  currency: 'USD',
};
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}.example.com`);
const paidFor = (change: Partial<Paid> = {}): Paid => ({
  through: days(100),
  product: 'paid_ca',
  names: 2,
  wildcards: 0,
  ...change,
});
const bought = (kind: PurchaseKind, dnsNames: readonly string[], paid: Paid | null, sold = product) =>
  chargeFor(kind, { product: sold, dnsNames, paid, now });

describe('a product that is not sold by time', () => {
  it.each(['term', 'as_paid', 'renewal'] as const)('costs nothing and has no end (%s)', (kind) => {
    const free = { ...product, termDays: null };
    expect(bought(kind, names(3), null, free)).toEqual({ purchase: null, expiresBy: null });
    expect(bought(kind, names(3), paidFor(), free)).toEqual({ purchase: null, expiresBy: null });
  });
});

describe('a term', () => {
  it('costs the full price of all names and wildcards, and begins now', () => {
    const { purchase, expiresBy } = bought('term', ['a.example.com', 'b.example.com', '*.example.org'], null);
    expect(purchase).toEqual({
      kind: 'term',
      names: 2,
      wildcards: 1,
      paid: { through: days(365), product: 'paid_ca', names: 2, wildcards: 1 },
      lines: [
        {
          description: 'paid_ca for a.example.com, name, 2026-11-20 to 2027-11-20',
          quantity: 2,
          unitCents: 1_000,
          cents: 2_000,
        },
        {
          description: 'paid_ca for a.example.com, wildcard name, 2026-11-20 to 2027-11-20',
          quantity: 1,
          unitCents: 9_999,
          cents: 9_999,
        },
      ],
      cents: 11_999,
      currency: 'USD',
    });
    expect(expiresBy).toEqual(days(365));
  });

  it('begins where the running one ends, so no paid time is lost; the certificate lasts a term from now on', () => {
    const { purchase, expiresBy } = bought('term', names(2), paidFor());
    expect(purchase?.paid.through).toEqual(days(465));
    expect(purchase?.cents).toBe(2_000);
    expect(expiresBy).toEqual(days(365));
  });

  it.each([
    ['the one before is over', paidFor({ through: now })],
    ['another product is paid', paidFor({ product: 'paid_ev_ca' })],
  ])('begins now where %s', (_, paid) => {
    expect(bought('term', names(2), paid).purchase?.paid.through).toEqual(days(365));
  });

  it('charges additional names for the rest of the running term as well, so a long term cannot be filled', () => {
    const { purchase } = bought('term', names(5), paidFor({ names: 1, through: days(730) }));
    expect(purchase?.lines).toEqual([
      {
        description: 'paid_ca for n0.example.com, added name, 2026-11-20 to 2028-11-19',
        quantity: 4,
        unitCents: 2_000,
        cents: 8_000,
      },
      {
        description: 'paid_ca for n0.example.com, name, 2028-11-19 to 2029-11-19',
        quantity: 5,
        unitCents: 1_000,
        cents: 5_000,
      },
    ]);
    expect(purchase).toMatchObject({ kind: 'term', names: 5, cents: 13_000 });
  });

  it('is for the names of now: fewer than before are covered from then on', () => {
    expect(bought('term', names(1), paidFor({ names: 5 })).purchase?.paid.names).toBe(1);
  });
});

describe('the part that the running term does not cover', () => {
  it('is empty for the same names, fewer, or others of the same number', () => {
    for (const dnsNames of [names(2), names(1), ['x.org', 'y.org'], ['x.org', 'www.x.org', 'y.org']]) {
      expect(bought('as_paid', dnsNames, paidFor())).toEqual({ purchase: null, expiresBy: days(100) });
    }
  });

  it('is charged pro rata for the remaining days, partial days included, rounded up to the cent', () => {
    const { purchase } = bought('as_paid', [...names(4), '*.example.org'], paidFor({ through: days(99.5) }));
    expect(purchase).toMatchObject({
      kind: 'added_names',
      names: 2,
      wildcards: 1,
      paid: { through: days(99.5), product: 'paid_ca', names: 4, wildcards: 1 },
    });
    // 1000 * 100 / 365 = 273.97, 9999 * 100 / 365 = 2739.45
    expect(purchase?.lines.map(({ quantity, unitCents }) => [quantity, unitCents])).toEqual([
      [2, 274],
      [1, 2_740],
    ]);
    expect(purchase?.cents).toBe(2 * 274 + 2_740);
  });

  it('is no exchange: wildcards are paid although names become fewer, and those stay covered', () => {
    const { purchase } = bought('as_paid', ['*.example.org'], paidFor());
    expect(purchase).toMatchObject({ names: 0, wildcards: 1, paid: { names: 2, wildcards: 1 } });
  });

  it('costs the initial price when added at once, and never more than the full price later', () => {
    const fresh = paidFor({ through: days(365) });
    expect(bought('as_paid', names(3), fresh).purchase?.cents).toBe(1_000);
    for (let left = 1; left <= 365; left += 1) {
      for (const priceCents of [1, 3, 999, 1_000, 99_999_999]) {
        const sold = { ...product, priceCents };
        const cents =
          bought('as_paid', names(3), paidFor({ through: days(left) }), sold).purchase?.cents ?? 0;
        const exact = BigInt(priceCents) * BigInt(left);
        expect(BigInt(cents) * 365n >= exact && (BigInt(cents) - 1n) * 365n < exact).toBe(true);
        expect(cents).toBeLessThanOrEqual(priceCents);
      }
    }
  });

  it.each([
    ['there is no term', null],
    ['the term is over', paidFor({ through: new Date(now.getTime() - 1) })],
    ['the term is of another product', paidFor({ product: 'paid_ev_ca' })],
  ])('is a term where %s', (_, paid) => {
    expect(bought('as_paid', names(2), paid)).toEqual(bought('term', names(2), null));
  });

  it.each([
    ['as long as the one whose place it takes', days(40), days(40)],
    ['no longer than is paid', days(400), days(100)],
    ['to the end of the term where that one is over', days(-1), days(100)],
    ['to the end of the term where there was none', null, days(100)],
  ])('makes a certificate that lasts %s', (_, lasting, expected) => {
    const { expiresBy } = chargeFor('as_paid', {
      product,
      dnsNames: names(2),
      paid: paidFor(),
      now,
      lasting,
    });
    expect(expiresBy).toEqual(expected);
  });
});

describe('a renewal', () => {
  it.each([
    ['as_paid', 365, 100],
    ['as_paid', 365, 30.01],
    ['term', 365, 30],
    ['term', 365, 1],
    ['as_paid', 9, 3.01],
    ['term', 9, 3],
  ] as const)('is %s for a term of %i days with %f days left', (kind, termDays, left) => {
    const sold = { ...product, termDays };
    const paid = paidFor({ through: days(left) });
    expect(bought('renewal', names(3), paid, sold)).toEqual(bought(kind, names(3), paid, sold));
  });
});

describe('every charge', () => {
  const kinds = ['term', 'as_paid', 'renewal'] as const;
  const paids = [
    null,
    ...[-1, 0, 0.3, 29, 100, 365, 1_200].flatMap((left) =>
      [0, 1, 7].map((count) => paidFor({ through: days(left), names: count, wildcards: count % 2 })),
    ),
  ];
  const sets = [names(1), names(4), ['*.example.org'], [...names(9), '*.a.org', '*.b.org']];
  const cases = kinds.flatMap((kind) => paids.flatMap((paid) => sets.map((set) => ({ kind, paid, set }))));

  it('is the sum of its lines, each quantity times unit price, in whole cents', () => {
    for (const { kind, paid, set } of cases) {
      const { purchase } = bought(kind, set, paid);
      if (purchase === null) continue;
      for (const line of purchase.lines) {
        expect(line.cents).toBe(line.quantity * line.unitCents);
        expect(Number.isSafeInteger(line.cents) && line.quantity > 0).toBe(true);
      }
      expect(purchase.cents).toBe(purchase.lines.reduce((total, { cents }) => total + cents, 0));
    }
  });

  it('keeps names and wildcards covered, and loses no paid time', () => {
    for (const { kind, paid, set } of cases) {
      const { purchase, expiresBy } = bought(kind, set, paid);
      const after = purchase?.paid ?? paid;
      expect(bought('as_paid', set, after).purchase).toBeNull();
      if (paid !== null && after !== null)
        expect(after.through.getTime()).toBeGreaterThanOrEqual(paid.through.getTime());
      expect(expiresBy?.getTime()).toBeLessThanOrEqual(after?.through.getTime() ?? 0);
    }
  });

  it('is not made smaller by buying in pieces', () => {
    for (const { paid, set } of cases.filter(({ kind }) => kind === 'term')) {
      const whole = bought('term', set, paid).purchase?.cents ?? 0;
      const little = bought('term', set.slice(0, 1), paid).purchase;
      const rest = bought('as_paid', set, little?.paid ?? null).purchase?.cents ?? 0;
      expect((little?.cents ?? 0) + rest).toBeGreaterThanOrEqual(whole);
    }
  });
});
