import type { Paid } from './purchase';
import { coveredReplacement, endsWithinTerm, type PresentTerms, replacementOfRevoked } from './renewal-terms';

const dayMs = 86_400_000;
const now = new Date('2027-06-01T00:00:00Z');
const days = (count: number) => new Date(now.getTime() + count * dayMs);

const paid: Paid = { through: days(200), product: 'paid_ca', names: 2, wildcards: 0 };
const own = { id: '1', product: 'paid_ca', dnsNames: ['a.org', 'b.org'] };
const present: PresentTerms = {
  id: '2',
  product: 'paid_ca',
  dnsNames: ['a.org', 'c.org'],
  termDays: 365,
  isAvailable: true,
};

describe('a replacement without charge', () => {
  it('uses the current terms when the running term covers them', () => {
    expect(coveredReplacement({ present, own, paid }, now)).toEqual({ termsId: '2', expiresBy: days(200) });
  });

  it.each([
    ['there are more names', { dnsNames: ['a.org', 'b.org', 'c.org'] }],
    ['there is a wildcard', { dnsNames: ['*.a.org'] }],
    ['the product is another one', { product: 'paid_ev_ca' }],
    ['nothing is sold by time', { product: 'free_ca', termDays: null }],
  ])('is of the certificate’s own where the present terms are not paid: %s', (_, change) => {
    const changed = { ...present, ...change };
    expect(coveredReplacement({ present: changed, own, paid }, now)).toEqual({
      termsId: '1',
      expiresBy: days(200),
    });
    expect(coveredReplacement({ present: changed, own: null, paid }, now)).toBeNull();
  });

  it.each([
    ['nothing is paid', null],
    ['the term is over', { ...paid, through: now }],
    ['another product is paid', { ...paid, product: 'paid_ev_ca' }],
  ])('is none where %s', (_, standing) => {
    expect(coveredReplacement({ present, own, paid: standing }, now)).toBeNull();
  });
});

describe('a certificate', () => {
  it.each([
    [0, false],
    [-40, false],
    [1, false],
    [1.01, true],
    [100, true],
  ])('that ends %f days before the term is followed by another one of it: %s', (before, expected) => {
    const notAfter = new Date(paid.through.getTime() - before * dayMs);
    expect(endsWithinTerm({ notAfter }, { own, paid })).toBe(expected);
    expect(endsWithinTerm({ notAfter }, { own: null, paid })).toBe(expected);
    expect(endsWithinTerm({ notAfter }, { own: { product: 'free_ca' }, paid })).toBe(false);
    expect(endsWithinTerm({ notAfter }, { own, paid: null })).toBe(false);
  });
});

describe('the replacement of a revoked certificate', () => {
  const certificate = { notAfter: days(50) };
  const replace = (
    change: Partial<PresentTerms>,
    standing: Paid | null = paid,
    terms: typeof own | null = own,
  ) =>
    replacementOfRevoked(
      { present: { ...present, ...change }, own: terms, paid: standing },
      certificate,
      now,
    );

  it('uses the current terms for the paid time', () => {
    expect(replace({})).toEqual({ termsId: '2', expiresBy: days(200) });
  });

  it('uses its own terms when the current ones would have to be paid', () => {
    expect(replace({ dnsNames: ['a.org', 'b.org', 'c.org'] })).toEqual({
      termsId: '1',
      expiresBy: days(200),
    });
  });

  it('lasts no longer than the revoked one when the paid time has ended: a revocation is no purchase', () => {
    expect(replace({}, null)).toEqual({ termsId: '1', expiresBy: days(50) });
    expect(replace({}, { ...paid, through: days(-1) })).toEqual({ termsId: '1', expiresBy: days(50) });
    expect(replace({}, null, null)).toBeNull();
  });

  it('has no end when the product is not sold by time, even if another product was paid', () => {
    expect(replace({ product: 'free_ca', termDays: null })).toEqual({ termsId: '2', expiresBy: null });
  });
});
