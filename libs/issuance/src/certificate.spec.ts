import { bestCertificate, type Certificate, certificateState } from './certificate';

const now = new Date('2026-11-20T12:00:00Z');
const key = Buffer.alloc(32, 1);
const otherKey = Buffer.alloc(32, 2);
const days = (count: number) => new Date(now.getTime() + count * 24 * 60 * 60 * 1_000);

function certificate(id: string, changes: Partial<Certificate> = {}): Certificate {
  return {
    id,
    dnsNames: ['a.example.com', 'b.example.com'],
    keyType: 'ecdsa',
    spkiSha256: key,
    notBefore: days(-1),
    notAfter: days(89),
    revokedAt: null,
    ...changes,
  };
}

const wanted = { dnsNames: ['b.example.com', 'a.example.com'], spkiSha256: key };
const best = (...certificates: Certificate[]) => bestCertificate(certificates, wanted, now)?.id ?? null;

describe('certificateState', () => {
  it('is valid until its last instant', () => {
    expect(certificateState({ notAfter: now, revokedAt: null }, now)).toBe('valid');
    expect(certificateState({ notAfter: new Date(now.getTime() - 1), revokedAt: null }, now)).toBe('expired');
  });

  it('goes from revoked to expired with time', () => {
    expect(certificateState({ notAfter: days(1), revokedAt: days(-1) }, now)).toBe('revoked');
    expect(certificateState({ notAfter: days(-1), revokedAt: days(-2) }, now)).toBe('expired');
  });
});

describe('bestCertificate', () => {
  it('is none where there is none that is valid', () => {
    expect(best()).toBeNull();
    expect(
      best(certificate('1', { notAfter: days(-1) }), certificate('2', { revokedAt: days(-1) })),
    ).toBeNull();
  });

  it('is the newest that matches names and key, in any order of names', () => {
    expect(best(certificate('old', { notBefore: days(-30) }), certificate('new'))).toBe('new');
    expect(best(certificate('new'), certificate('old', { notBefore: days(-30) }))).toBe('new');
  });

  it('prefers one that matches to one that expires later', () => {
    expect(
      best(certificate('longer', { spkiSha256: otherKey, notAfter: days(300) }), certificate('matching')),
    ).toBe('matching');
  });

  it('is the one that expires last when none matches', () => {
    const short = certificate('short', { dnsNames: ['a.example.com'], notAfter: days(5) });
    const long = certificate('long', { dnsNames: ['a.example.com'], notAfter: days(50) });
    expect(best(long, short)).toBe('long');
  });

  it('matches nothing while there is no CSR, and falls back to the one that expires last', () => {
    const certificates = [certificate('1', { notAfter: days(9) }), certificate('2', { notAfter: days(8) })];
    expect(bestCertificate(certificates, { ...wanted, spkiSha256: null }, now)?.id).toBe('1');
  });

  it('of two that are equal takes the one issued later', () => {
    expect(best(certificate('1'), certificate('2'))).toBe('2');
  });
});
