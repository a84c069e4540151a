import { isReplacedAfterRevocation, lastingReason, revocationReason } from './revocation';

describe('revocationReason', () => {
  it('accepts names and numbers of RFC 5280 that a subscriber may use', () => {
    expect(revocationReason('keyCompromise')).toBe(1);
    expect(revocationReason(0)).toBe(0);
    expect(revocationReason(9)).toBe(9);
  });

  it.each([
    2,
    6,
    8,
    10,
    '1',
    'cACompromise',
    'certificateHold',
    'KeyCompromise',
    'toString',
    null,
    undefined,
    true,
  ])('does not take %p', (value) => {
    expect(revocationReason(value)).toBeUndefined();
  });
});

describe('lastingReason', () => {
  it('is the first one, unless the key turns out to be compromised', () => {
    expect(lastingReason(null, 4)).toBe(4);
    expect(lastingReason(4, 5)).toBe(4);
    expect(lastingReason(4, 1)).toBe(1);
    expect(lastingReason(1, 0)).toBe(1);
  });
});

describe('isReplacedAfterRevocation', () => {
  const plan = { autoRenew: true, paused: false, closedAt: null };

  it('is so while auto_renew is true, unless the service behind it has ended', () => {
    expect(isReplacedAfterRevocation(plan, 0)).toBe(true);
    expect(isReplacedAfterRevocation(plan, 1)).toBe(true);
    expect(isReplacedAfterRevocation(plan, 5)).toBe(false);
    expect(isReplacedAfterRevocation({ ...plan, autoRenew: false }, 4)).toBe(false);
    expect(isReplacedAfterRevocation({ ...plan, paused: true }, 4)).toBe(false);
    expect(isReplacedAfterRevocation({ ...plan, closedAt: new Date() }, 4)).toBe(false);
  });
});
