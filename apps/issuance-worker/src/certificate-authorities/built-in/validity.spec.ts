import { validityFrom } from './validity';

const now = new Date('2026-11-20T12:00:00.750Z');
const year = 365;
const issuerEnds = new Date('2036-11-20T12:00:00Z');

const validity = (lifetimeDays: number, expiresBy: Date | null) =>
  validityFrom({ now, lifetimeDays, expiresBy }, issuerEnds);

describe('validityFrom', () => {
  it('is exactly the lifetime, from an hour ago, when not sold by period', () => {
    expect(validity(90, null)).toEqual({
      notBefore: new Date('2026-11-20T11:00:00Z'),
      notAfter: new Date('2027-02-18T10:59:59Z'),
    });
  });

  it('ends in the second in which the paid period ends', () => {
    const expiresBy = new Date('2027-11-20T11:59:58.999Z');
    expect(validity(year, expiresBy)).toEqual({
      notBefore: new Date('2026-11-20T11:00:00Z'),
      notAfter: new Date('2027-11-20T11:59:58Z'),
    });
  });

  it('is exactly a whole year from now when more was paid for', () => {
    const expiresBy = new Date('2028-02-01T00:00:00Z');
    expect(validity(year, expiresBy).notAfter).toEqual(new Date('2027-11-20T12:00:00Z'));
  });

  it('is never negative', () => {
    expect(() => validity(year, now)).toThrow('2026-11-20T12:00:00.000Z');
  });

  it('ends with the intermediate at the latest', () => {
    const soon = new Date('2026-12-01T00:00:00Z');
    expect(validityFrom({ now, lifetimeDays: 90, expiresBy: null }, soon).notAfter).toEqual(soon);
    expect(() => validityFrom({ now, lifetimeDays: 90, expiresBy: null }, now)).toThrow('admin -- ca renew');
  });
});
