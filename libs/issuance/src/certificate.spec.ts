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

  it('changes from revoked to expired when its validity ends', () => {
    expect(certificateState({ notAfter: days(1), revokedAt: days(-1) }, now)).toBe('revoked');
    expect(certificateState({ notAfter: days(-1), revokedAt: days(-2) }, now)).toBe('expired');
  });
});

describe('bestCertificate', () => {
  it('is null when no certificate is valid', () => {
    expect(best()).toBeNull();
    expect(
      best(certificate('1', { notAfter: days(-1) }), certificate('2', { revokedAt: days(-1) })),
    ).toBeNull();
  });

  it('is the newest that matches names and key, in any order of names', () => {
    expect(best(certificate('old', { notBefore: days(-30) }), certificate('new'))).toBe('new');
    expect(best(certificate('new'), certificate('old', { notBefore: days(-30) }))).toBe('new');
  });

  it('prefers a matching certificate to one that expires later', () => {
    expect(
      best(certificate('longer', { spkiSha256: otherKey, notAfter: days(300) }), certificate('matching')),
    ).toBe('matching');
  });

  it('is the certificate that expires last when none matches', () => {
    const short = certificate('short', { dnsNames: ['a.example.com'], notAfter: days(5) });
    const long = certificate('long', { dnsNames: ['a.example.com'], notAfter: days(50) });
    expect(best(long, short)).toBe('long');
  });

  it('matches no certificate while the CSR is missing, and falls back to the one that expires last', () => {
    const certificates = [certificate('1', { notAfter: days(9) }), certificate('2', { notAfter: days(8) })];
    expect(bestCertificate(certificates, { ...wanted, spkiSha256: null }, now)?.id).toBe('1');
  });

  it('prefers the one issued later when two are equal', () => {
    expect(best(certificate('1'), certificate('2'))).toBe('2');
  });
});
