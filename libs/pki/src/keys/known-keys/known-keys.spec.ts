import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
} from 'node:crypto';
import { checkCsr, knownKeySource, readCsr } from '../../index';
import { forgeCsr, type KeyPair } from '../../testing/csr-forge';
import { PackedDigests, readPublishedKeys } from './known-keys';
import publishedKeysText from './published-keys.txt';

// Every private key here is already public: the lists contain only such keys.

const rule = { mustNameEveryDnsName: true };

function faultsOf(pair: KeyPair, keyBlocked = false) {
  const reading = readCsr(forgeCsr(pair));
  if (!reading.ok) return reading.faults;
  return checkCsr(reading.csr, { keyType: undefined, dnsNames: ['example.com'], rule }, { keyBlocked });
}

/** @param secret private key as a number, hexadecimal */
function ecPair(curve: 'P-256' | 'P-384', secret: string): KeyPair {
  const bytes = curve === 'P-256' ? 32 : 48;
  const pair = createECDH(curve === 'P-256' ? 'prime256v1' : 'secp384r1');
  pair.setPrivateKey(secret.padStart(2 * bytes, '0'), 'hex');
  const point = pair.getPublicKey();
  const coordinate = (from: number) => point.subarray(from, from + bytes).toString('base64url');
  const [x, y] = [coordinate(1), coordinate(1 + bytes)];
  const jwk = { kty: 'EC', crv: curve, x, y, d: pair.getPrivateKey().toString('base64url') };
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

function rsaPair(pkcs8: string): KeyPair {
  const privateKey = createPrivateKey({ key: Buffer.from(pkcs8, 'base64'), format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

describe('a CSR whose private key is published', () => {
  it.each([
    ['P-256', 'c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721', 'RFC 6979'],
    [
      'P-384',
      '6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba9aa47740787137d896d5724e4c70a825f872c9ea60d2edf5',
      'RFC 6979',
    ],
    ['P-256', '8e9b109e719098bf980487df1f5d77e9cb29606ebed2263b5f57c213df84f4b2', 'RFC 7515'],
    ['P-256', 'e6cb5bdd80aa45ae9c95e8c15476679ffec953c16851e711e743939589c64fc1', 'RFC 9500'],
    [
      'P-384',
      'e2563328dfabf68188606b91324281c1d58a4456431b09d510b35fecc9f307ca1822846fa2671371a9a81bac0e35749d',
      'RFC 9500',
    ],
    ['P-256', 'c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433', 'RFC 5903, section 8.1'],
    [
      'P-384',
      '099f3c7034d4a2c699884d73a375a67f7624ef7c6b3c0f160647b67414dce655e35b538041e649ee3faef896783ab194',
      'RFC 5903, section 8.2',
    ],
    ['P-256', 'c9f58f89813e9f8e872e71f42aa64e1757c9254dcc62b72ddc010bb4043ea11c', 'RFC 8291, appendix A'],
    ['P-256', '1', 'private key 1 on P-256'],
    ['P-384', '64', 'private key 100 on P-384'],
    ['P-256', 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550', 'private key n-1 on P-256'],
  ] as const)('is refused: %s %s', (curve, secret, source) => {
    expect(faultsOf(ecPair(curve, secret))).toEqual([
      {
        code: 'key_compromised',
        source,
      },
    ]);
  });

  it('is refused: RSA, RFC 9500', () => {
    const pkcs8 = [
      'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCw+egZQ6eumJKq3hfKfED4dE/tL4FI5sjqont9ABVI+1GSqyi1',
      'bFBgsRjM0THllIdMbKmJtWwnKW8J+5OgNN8y6Xxv8JmM/Y5vQt2lis0fqXmG8UTz0VTWdlAXXmhUs6lSADvAaIe4RVrCsZ97L3ZQ',
      'TryY7JRVcbB4khUN3Gp0yg+801SXzoFTTa+UGIRLE66jH51aa5VXu99hnv1OiH8tQrjdi8mH6uG/icq4XuIeNWMF32wHqIOOPvQc',
      'WV3M5D2vxJEj702Ku6k9OQXkAo17qRSEonWW4HtLbtmS8He1JNPc/n3dVUm+fM6NoDXPoLP7j55G9zKyqGtGAWXAj1MTAgMBAAEC',
      'ggEAQRiLIM/b28LPH/51LcuqcjkGNS4mFdSdzoBZf88KBUA77wD6BlGC9y3s+1lvSwzo/1lwuvB6iaUZ7MgWsvT/rFBprxsGv+97',
      '9rzXnk6ByMWjp9kTDcPPutrl9tKI+a7j9v+S+uD4GvWXvslq6fq5QCzV/kH3Bb69tHu3NtP+bFpR4OIHMql7XkbBy9sm10hUxrZg',
      'Su1GNzX/kHYEZVfK+Um/RIiVwgQyweCcAU6nVmBDTxoPO+KUurxdUw5qECE/U7YDdfyEp1c/KvEhVYT1tL2m1Oj54Xp42X53uG2k',
      'oYRkdTGKehClYQFO/6I6gexW6eQQne+Ms/eXIj99jQ1DUQKBgQDdEFcCOC8jKzaB9TeR4iYXx79OmsuB7Uja9taZXaPqtkKDmv8B',
      'LS6mKLkK8nn9Pm98k82A8HLwH/JEOz7o8k7UaaeWE6Qb0kAg+S/REFm9HQ8wG1unqdNjfKjWXBqYFUF9jqtzSwtPOixmHZoagvOs',
      'c0xAUwZpq45HMEWljmVTnQKBgQDM8eW7kMjpeB6nW+vxC8JS4R6wI6AmDxiHVSpWhj9KZCHoxgC/Uj1ssbCtvdZb/uSoigN+PRpB',
      'Xlu5VkjaWgyia1T0pjlIUiw9X4m5SnLv/5UTTVlAzkV1jzCJgJCJVliO71dbPkvEw2jP6BPunCUsKwLg35HxqgGTjThoXWC6bwKB',
      'gAntVOrtmPhMVXtKhr9PV4ST3Lxr6R2hiTcEBKkIcnb0zlHYoQDthX3CsGSUdPPxXNJMVNsocRDlblywCGgvkWiqgfMUWLdDHswc',
      'RJBv2ofKiUcQw3HpB2wdSfuuUSdpNPKteHeJ9C0PoLTJOYVdQhIJb3AoCk6ufIon2cjQdy5lAoGBAIy2hXp71UZfgAR+m4e8ACcx',
      'hAWB4GJhOQEqW1BfCjOEfre4wyiZSa1IbztLPVOatdp2MCHLyCwbojSlZo3tCAG4WfND8c6TBOb6orACytm3jN5c3CwftBccQkIW',
      'cKarD1DMShlOs20ckek1ugG5Wdhyi55kQms/w6dQbetSOainAoGACoHYphgxSoA69hwGcR8sObJm/0FNU0dtHaUqQxiq/kuW8NoH',
      'FV+KUTTauI7inoFoB2/NeMp5GsY0Qqgc0Gk5J9gI4zXo2MvyEhkHUJpXdZtPmhj6OnszN3nt3npFk4T4REra7P/slf1VKwz8tsf2',
      'kmJt3h7yaKQNL2e1yKo4f/c=',
    ].join('');
    const [fault, ...others] = faultsOf(rsaPair(pkcs8));
    expect(fault).toMatchObject({
      code: 'key_compromised',
      source: expect.stringContaining('RFC 9500') as string,
    });
    expect(others).toEqual([]);
  });

  it('is refused once, even when an operator has blocked the key too', () => {
    expect(faultsOf(ecPair('P-256', '2'), true)).toHaveLength(1);
  });

  it('is accepted when the key is a new one', () => {
    expect(faultsOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }))).toEqual([]);
    expect(faultsOf(generateKeyPairSync('rsa', { modulusLength: 2048 }))).toEqual([]);
  });
});

describe('a key that OpenSSL made on Debian without randomness (CVE-2008-0166)', () => {
  const source = 'weak random numbers of OpenSSL on Debian, CVE-2008-0166';

  // As published in the repository badkeys/debianopenssl: ecp256/ssl and ecp384/ssl.
  it.each([
    ['le64/1-rnd', 'P-256', 'e0fc1db2bfa4f66da72b454e3cf9d89f3fd6866a37312ab8965840271811ea87'],
    ['le64/1-nornd-new', 'P-256', '0b7ccd3c9fef9d8b267912bd97f04218a8b1f46065cba4e150b98be0e32f6016'],
    ['le32/1-nornd-old', 'P-256', 'd35fa800cc2f5ec64cfb29125cfb66b3bc895019ea0c366220f6ef8142a3602a'],
    ['be32/1-rnd', 'P-256', '4e8b09e965165d3dd13a2f401fad3efc1100bced83d5c7b57bbcc9abfc27d21b'],
    [
      'be32/2-nornd-new',
      'P-384',
      '5ad644dda325ea017ca0cef36ca8f0562d4d52f7e20e2e15f5eae396b6c269ac122c38eb2790923a70591cec1ad44c7f',
    ],
  ] as const)('is refused: %s', (_name, curve, secret) => {
    expect(faultsOf(ecPair(curve, secret))).toMatchObject([{ code: 'key_compromised', source }]);
  });
});

describe('the lists', () => {
  it('have a digest and a source in every line, and no digest twice', () => {
    const lines = publishedKeysText.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    for (const line of lines) expect(line).toMatch(/^[0-9a-f]{64} \S.*$/);
    expect(readPublishedKeys(publishedKeysText).size).toBe(lines.length);
  });

  it('do not contain a random digest', () => {
    for (let i = 0; i < 1000; i++) expect(knownKeySource(randomBytes(32).toString('hex'))).toBeUndefined();
  });

  it('are packed without loss of the first six bytes, in any order', () => {
    const digests = Array.from({ length: 3000 }, (_, i) => createHash('sha256').update(String(i)).digest());
    const packed = new PackedDigests(PackedDigests.pack([...digests, ...digests].reverse()));
    expect(packed.size).toBe(digests.length);
    expect(digests.every((digest) => packed.has(digest))).toBe(true);
    expect(Array.from({ length: 3000 }, () => packed.has(randomBytes(32)))).not.toContain(true);
    const prefixes = digests.map((digest) => digest.toString('hex', 0, 6)).sort();
    expect([...packed.entries()].map((entry) => entry.toString('hex'))).toEqual(prefixes);
  });

  it('are refused when they are cut off', () => {
    const packed = PackedDigests.pack([randomBytes(32)]);
    expect(() => new PackedDigests(packed.subarray(0, -1))).toThrow('cut off');
  });
});
