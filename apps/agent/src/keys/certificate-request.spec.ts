import { execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { readCsr } from '@certwright/pki';
import { certificateRequest, newKey } from './certificate-request';

const accepts = { rsa: [2048, 3072], ecdsa: ['P-256', 'P-384'] };
const settings = { rsaBits: 2048, curve: 'P-256', csrCommand: null } as const;
const names = ['www.example.com', '*.example.com'];

it.each([
  ['rsa', settings, 'sha256WithRSAEncryption', 'Public-Key: (2048 bit)'],
  ['ecdsa', settings, 'ecdsa-with-SHA256', 'NIST CURVE: P-256'],
  ['ecdsa', { ...settings, curve: 'P-384' }, 'ecdsa-with-SHA384', 'NIST CURVE: P-384'],
] as const)(
  'a CSR of a new %s key is verified by OpenSSL, and has an empty subject and exactly the names',
  async (type, keys, algorithm, size) => {
    const { privateKey, pkcs8, spkiSha256 } = await newKey(type, accepts, keys);
    const der = certificateRequest(privateKey, names);
    const text = execFileSync('openssl', ['req', '-inform', 'DER', '-verify', '-noout', '-text'], {
      input: der,
      encoding: 'utf8',
    });
    expect(text).toContain(algorithm);
    expect(text).toContain(size);
    expect(text).toMatch(/Subject: *\n/);
    expect(text).toContain('DNS:www.example.com, DNS:*.example.com');
    const reading = readCsr(der);
    expect(reading).toMatchObject({ ok: true, csr: { spkiSha256, keyType: type, commonNames: [] } });
    const stored = createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' });
    expect(stored.equals(privateKey)).toBe(true);
  },
);

it.each([
  [
    'rsa',
    { ...settings, rsaBits: 4096 },
    'keys.rsa = 4096 is not accepted for this order; set it to one of 2048, 3072',
  ],
  [
    'ecdsa',
    { ...settings, curve: 'P-521' as never },
    'keys.ecdsa = "P-521" is not accepted for this order; set it to one of P-256, P-384',
  ],
] as const)('makes no %s key that the product does not accept', async (type, keys, message) => {
  await expect(newKey(type, accepts, keys)).rejects.toThrow(message);
});
