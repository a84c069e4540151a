import { issuanceExpansion, issuanceJson } from '@certwright/issuance-json';
import { anIssuance } from '../testing/forged-issuance';

it('returns the digest of the returned certificate, even if it was stored after the issuance was read', () => {
  const [before, after] = [anIssuance('example.com', { precertificate: true }), anIssuance('example.com')];
  const bytes = (digits: string) => Buffer.from(digits, 'hex');
  const more = { position: '7', issuer: 1, crl: null };
  const { tbsSha256, certSha256, spkiSha256 } = before;
  const issuance = {
    ...{ ...before, ...more, hasSerial: true, revocation: null },
    ...{ digests: bytes(tbsSha256 + certSha256 + spkiSha256) },
    ...{ notBeforeMs: Date.now(), notAfterMs: Date.now(), discoveredAtMs: Date.now() },
  };
  const revocation = { status: 'unknown', revokedAt: null, reason: null, checkedAt: null } as const;
  const certificate = { sha256: bytes(after.certSha256), precertificate: false, der: after.der };
  const facts = { issuance, revocation, issuer: null, certificate };
  const shown = JSON.parse(issuanceJson(facts, issuanceExpansion(['cert', 'cert_der']))) as object;
  const sha256 = after.certSha256;
  const data = after.der.toString('base64');
  expect(shown).toMatchObject({ cert_sha256: sha256, cert_der: data, cert: { type: 'cert', sha256, data } });
});
