import type { CsrFault } from '@certwright/pki';
import { csrFaultMessage } from './csr-messages';

const messageOf = (fault: CsrFault) => csrFaultMessage(fault, 'order');

it.each<[CsrFault, RegExp]>([
  [{ code: 'malformed_csr', fault: 'private_key' }, /neither stored nor logged.*consider it exposed/],
  [{ code: 'malformed_csr', fault: 'pem' }, /in PEM; .*openssl req -in request\.pem -outform DER/],
  [{ code: 'malformed_csr', fault: 'pem_of_other' }, /not even a certificate request/],
  [{ code: 'malformed_csr', fault: 'empty' }, /is empty/],
  [{ code: 'malformed_csr', fault: 'white_space' }, /line breaks/],
  [{ code: 'malformed_csr', fault: 'not_base64' }, /not base64 .* padding/],
  [{ code: 'malformed_csr', fault: 'too_long', maxBytes: 65_536 }, /longer than 64 KiB/],
  [
    { code: 'malformed_csr', fault: 'not_der', detail: 'a version other than 0' },
    /not a PKCS #10 request in DER: a version other than 0\.$/,
  ],
  [{ code: 'malformed_csr', fault: 'point', curve: 'P-256' }, /not an uncompressed point of P-256/],
  [{ code: 'key_compromised', source: null }, /known to be compromised/],
  [{ code: 'key_compromised', source: 'RFC 9500' }, /publicly known \(RFC 9500\)/],
  [{ code: 'bad_csr_signature', fault: 'other_key' }, /not made with the private key/],
  [{ code: 'bad_csr_signature', fault: 'algorithm', algorithm: 'md5WithRSAEncryption' }, /SHA-512\.$/],
  [
    { code: 'bad_csr_signature', fault: 'algorithm', algorithm: 'sha1WithRSAEncryption' },
    /certreq.*HashAlgorithm = sha256/,
  ],
  [{ code: 'csr_cn_mismatch', count: 1, commonName: '' }, /common name of the CSR is empty/],
  [{ code: 'csr_cn_mismatch', count: 2, commonName: 'a' }, /has 2 common names/],
  [
    { code: 'csr_cn_mismatch', count: 1, commonName: 'a.net' },
    /"a\.net" of the CSR is not one of the DNS names of the order\. /,
  ],
  [
    { code: 'csr_san_mismatch', fault: 'no_extension' },
    /no subject alternative name extension; it must have one with exactly the DNS names of the order\.$/,
  ],
  [
    otherNames({ missing: ['*.example.com'], extra: ['a.net'] }),
    /lack "\*\.example\.com" and have "a\.net" that the order does not have\. /,
  ],
  [otherNames({ extra: ['example.com\0.evil.net'] }), /\\u\{0\}/],
  [otherNames({ otherKinds: ['IP address'] }), /an entry that is not a DNS name \(IP address\)/],
  [
    { code: 'unsupported_key_type', actual: 'ecdsa', wanted: 'rsa' },
    /^The CSR has an ECDSA key, but the key type of the order is rsa \(RSA\)\.$/,
  ],
  [
    { code: 'unsupported_key_type', keyType: 'Ed25519', allowed: ['rsa', 'ecdsa'] },
    /^The CSR has a key of type Ed25519; it must be RSA or ECDSA\.$/,
  ],
  [
    { code: 'unsupported_key_size', bits: 1024, allowed: [2048, 3072, 4096] },
    /^The RSA key has 1024 bits; it must have 2048, 3072 or 4096\.$/,
  ],
  [{ code: 'unsupported_curve', curve: 'P-521', allowed: ['P-256'] }, /is on P-521; it must be on P-256/],
  [{ code: 'weak_key', weakness: 'roca' }, /ROCA, CVE-2017-15361\)\. Generate a new key\.$/],
  [{ code: 'weak_key', weakness: 'not_on_curve', curve: 'P-256' }, /not a point on P-256/],
])('%j has a message', (fault, text) => {
  expect(messageOf(fault)).toMatch(text);
  expect(messageOf(fault)).toMatch(/\.$/);
});

it('names the object of the API', () => {
  const fault = otherNames({ extra: ['a.net'] });
  expect(csrFaultMessage(fault, 'certificate object')).toMatch(/certificate object does not have/);
  expect(csrFaultMessage(fault, 'certificate object')).not.toContain('order');
});

it('is short however many names are wrong', () => {
  const extra = Array.from({ length: 500 }, (_, index) => `${'x'.repeat(60)}.${index}.example.com`);
  expect(messageOf(otherNames({ extra })).length).toBeLessThan(700);
});

function otherNames(
  also: Partial<Extract<CsrFault, { readonly fault: 'other_names' }>>,
): Extract<CsrFault, { readonly fault: 'other_names' }> {
  const none = { missing: [], extra: [], otherKinds: [] };
  return { code: 'csr_san_mismatch', fault: 'other_names', ...none, ...also };
}
