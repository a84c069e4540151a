import {
  checkPrimeSync,
  generateKeyPairSync,
  generatePrimeSync,
  getDiffieHellman,
  type KeyObject,
} from 'node:crypto';
import { parseDer } from '../der/der-element';
import { ecSpki, pointOffCurve, rsaSpki } from '../testing/csr-forge';
import { fromHex, nul, oid, seq } from '../testing/der-forge';
import { pointFault } from './curves';
import { powerOfTwo, powerOfTwoInBigInt } from './fermat-test';
import { checkKey } from './check-key';
import { hasRocaFingerprint, rocaFalsePositiveRate } from './roca';
import { rsaWeakness } from './rsa-weakness';
import { smallPrimes } from './small-primes';
import { integerSquareRoot, isSquare } from './square-root';
import { readSubjectPublicKey } from './subject-public-key';

// The search for primes may take seconds.
jest.setTimeout(60_000);

const keyOf = (spki: Uint8Array) => readSubjectPublicKey(parseDer(spki)).key;
const codesOf = (spki: Uint8Array) => checkKey(keyOf(spki)).map(({ code }) => code);
const exported = (key: KeyObject) => key.export({ type: 'spki', format: 'der' });
const unsigned = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);

function nextPrime(from: bigint): bigint {
  let candidate = from | 1n;
  while (!checkPrimeSync(candidate)) candidate += 2n;
  return candidate;
}

/** Primes of 1024 bits whose product has 2048, since their two highest bits are set. */
const p = nextPrime(3n << 1022n);
const q = generatePrimeSync(1024, { bigint: true });

describe('RSA keys', () => {
  it.each([2048, 3072])('of %i bits that OpenSSL has made are accepted', (modulusLength) => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength });
    expect(checkKey(keyOf(exported(publicKey)))).toEqual([]);
  });

  it.each([1024, 2040, 2047, 2049, 2056, 4095, 4097, 8192, 65536])(
    'of %i bits are of an unsupported size',
    (bits) => {
      expect(codesOf(rsaSpki((1n << BigInt(bits)) - 1n))).toEqual(['unsupported_key_size']);
    },
  );

  it('count their bits exactly', () => {
    for (const bits of [2047, 2048, 2049, 3072])
      expect(keyOf(rsaSpki(1n << BigInt(bits - 1)))).toMatchObject({ bits });
  });

  it.each([
    ['an exponent of 3', p * q, 3n, 'exponent'],
    ['an exponent of 1', p * q, 1n, 'exponent'],
    ['an even exponent', p * q, 65536n, 'exponent'],
    ['an exponent as long as the modulus', p * q, p * q - 2n, 'exponent'],
    ['a modulus of zero', 0n, 65537n, 'not_positive'],
    ['an even modulus', p * q + 1n, 65537n, 'even'],
    ['a factor of 3', 3n * ((1n << 2048n) / 3n), 65537n, 'small_factor'],
    ['a factor of 751', 751n * nextPrime((1n << 2048n) / 752n), 65537n, 'small_factor'],
    ['a square modulus', p * p, 65537n, 'square'],
    ['primes next to each other', p * nextPrime(p + 2n), 65537n, 'close_primes'],
    ['primes that differ below bit 514', p * nextPrime(p + (1n << 514n)), 65537n, 'close_primes'],
    ['a prime modulus of 2048 bits', unsigned(getDiffieHellman('modp14').getPrime()), 65537n, 'prime'],
    ['a prime modulus of 4096 bits', unsigned(getDiffieHellman('modp16').getPrime()), 65537n, 'prime'],
  ])('are weak with %s', (_what, modulus, exponent, reason) => {
    const [fault, ...others] = checkKey(keyOf(rsaSpki(modulus, exponent)));
    expect(fault).toEqual({ code: 'weak_key', weakness: reason });
    expect(others).toEqual([]);
  });

  it('are weak with a negative modulus', () => {
    const negative = fromHex(`ff${'00'.repeat(256)}`);
    expect(checkKey(keyOf(rsaSpki(negative)))).toEqual([expect.objectContaining({ code: 'weak_key' })]);
  });

  it('are not considered weak when their primes are as far apart as usual', () => {
    expect(rsaWeakness(p * q, 65537n)).toBeUndefined();
    expect(rsaWeakness(p * nextPrime(p + (1n << 900n)), 65537n)).toBeUndefined();
  });
});

describe('ROCA (CVE-2017-15361)', () => {
  /** The generator as in the paper, section 2.1: the first 126 primes for keys of 2048 bits. */
  const primorial = firstPrimes(126).reduce((product, prime) => product * prime, 1n);

  function flawedPrime(exponent: bigint, lowest: bigint): bigint {
    let power = 1n;
    for (let i = 0n; i < exponent; i++) power = (power * 65537n) % primorial;
    let candidate = (lowest / primorial) * primorial + power;
    while (candidate < lowest || !checkPrimeSync(candidate)) candidate += primorial;
    return candidate;
  }

  function firstPrimes(count: number): bigint[] {
    return smallPrimes.slice(0, count);
  }

  it('recognises a key of the flawed generator', () => {
    const first = flawedPrime(1234n, 3n << 1022n);
    const second = flawedPrime(987n, 7n << 1021n);
    const [fault] = checkKey(keyOf(rsaSpki(first * second)));
    expect(fault).toEqual({ code: 'weak_key', weakness: 'roca' });
  });

  it('does not detect the fingerprint in other keys: less than once in 2^27', () => {
    expect(hasRocaFingerprint(p * q)).toBe(false);
    expect(rocaFalsePositiveRate()).toBeLessThan(2 ** -27);
  });
});

describe('the arithmetic behind it', () => {
  it('finds square roots exactly, next to every square', () => {
    for (let bits = 1n; bits < 2100n; bits += 37n) {
      const root = (1n << bits) + 12345n;
      expect([
        integerSquareRoot(root * root - 1n),
        integerSquareRoot(root * root),
        integerSquareRoot(root * root + 2n * root),
      ]).toEqual([root - 1n, root, root]);
      expect([isSquare(root * root), isSquare(root * root + 1n), isSquare(root * root - 1n)]).toEqual([
        true,
        false,
        false,
      ]);
    }
    for (let value = 0n; value < 300n; value++) {
      expect(integerSquareRoot(value)).toBe(BigInt(Math.floor(Math.sqrt(Number(value)))));
    }
    expect(isSquare(-4n)).toBe(false);
  });

  it('raises two to a power like plain square and double does', () => {
    for (const modulus of [p * q, p * p + 2n, unsigned(getDiffieHellman('modp5').getPrime())]) {
      const odd = modulus | 1n;
      expect(powerOfTwo(odd - 1n, odd)).toBe(powerOfTwoInBigInt(odd - 1n, odd));
    }
  });

  it('contains the 168 primes below 1000', () => {
    expect(smallPrimes).toHaveLength(168);
    expect(smallPrimes.every((prime) => checkPrimeSync(prime))).toBe(true);
  });
});

describe('ECDSA keys', () => {
  const p256 = oid('1.2.840.10045.3.1.7');
  const p384 = oid('1.3.132.0.34');
  const pair = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey;

  it.each(['P-256', 'P-384'])('on %s are accepted', (curve) =>
    expect(codesOf(exported(pair(curve)))).toEqual([]),
  );

  it.each(['P-521', 'secp256k1', 'P-224', 'brainpoolP256r1'])('on %s are on an unsupported curve', (curve) =>
    expect(codesOf(exported(pair(curve)))).toEqual(['unsupported_curve']),
  );

  it('on a curve that is spelled out, implied or unknown are on an unsupported curve', () => {
    const explicit = generateKeyPairSync('ec', { namedCurve: 'P-256', paramEncoding: 'explicit' }).publicKey;
    expect(codesOf(exported(explicit))).toEqual(['unsupported_curve']);
    expect(codesOf(ecSpki(nul(), pointOffCurve))).toEqual(['unsupported_curve']);
    expect(codesOf(ecSpki(seq(), pointOffCurve))).toEqual(['unsupported_curve']);
    expect(codesOf(ecSpki(oid('1.2.3.4'), pointOffCurve))).toEqual(['unsupported_curve']);
  });

  it('off the curve, of another curve or with coordinates that are not reduced are weak', () => {
    const { point } = keyOf(exported(pair('P-256'))) as { point: Uint8Array };
    const moved = Buffer.from(point);
    moved[64] = (moved[64] ?? 0) ^ 1;
    expect(codesOf(ecSpki(p256, moved))).toEqual(['weak_key']);
    expect(codesOf(ecSpki(p256, pointOffCurve))).toEqual(['weak_key']);
    expect(codesOf(ecSpki(p256, fromHex(`04${'00'.repeat(64)}`)))).toEqual(['weak_key']);
    expect(codesOf(ecSpki(p256, fromHex(`04${'ff'.repeat(64)}`)))).toEqual(['weak_key']);
    expect(codesOf(ecSpki(p384, point))).toEqual(['malformed_csr']);
  });

  it('are weak when a coordinate of a point on the curve has the field size added to it', () => {
    const field = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
    // The point with the minimum x: small enough that x + p still fits into 32 bytes.
    const { x, y } = pointWithSmallX(
      field,
      0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn,
    );
    const encoded = (value: bigint) => fromHex(value.toString(16).padStart(64, '0'));
    const spki = (first: bigint) => ecSpki(p256, Buffer.concat([fromHex('04'), encoded(first), encoded(y)]));
    expect(codesOf(spki(x))).toEqual([]);
    expect(codesOf(spki(x + field))).toEqual(['weak_key']);
  });

  function pointWithSmallX(field: bigint, b: bigint): { x: bigint; y: bigint } {
    for (let x = 1n; ; x++) {
      const square = ((((x * x - 3n) * x + b) % field) + field) % field;
      // A square root, if any, since the field size is 3 modulo 4.
      const y = power(square, (field + 1n) / 4n, field);
      if ((y * y) % field === square) return { x, y };
    }
  }

  function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
    let result = 1n;
    for (const bit of exponent.toString(2)) {
      result = (result * result) % modulus;
      if (bit === '1') result = (result * base) % modulus;
    }
    return result;
  }

  it('that are compressed, hybrid, at infinity or cut off are malformed', () => {
    const { point: valid } = keyOf(exported(pair('P-256'))) as { point: Uint8Array };
    const wrong = [
      Buffer.concat([fromHex('02'), valid.subarray(1, 33)]),
      Buffer.concat([fromHex('06'), valid.subarray(1)]),
      fromHex('00'),
      fromHex(''),
      valid.subarray(0, 64),
      Buffer.concat([valid, fromHex('00')]),
    ];
    for (const point of wrong) expect(codesOf(ecSpki(p256, point))).toEqual(['malformed_csr']);
  });

  it('agree with OpenSSL about every point', () => {
    for (const curve of ['P-256', 'P-384'] as const) {
      for (let i = 0; i < 20; i++) {
        const { point } = keyOf(exported(pair(curve))) as { point: Uint8Array };
        expect(pointFault(curve, point)).toBeUndefined();
      }
    }
  });
});

describe('keys of another algorithm are of an unsupported type', () => {
  it.each([
    ['Ed25519', generateKeyPairSync('ed25519').publicKey],
    ['Ed448', generateKeyPairSync('ed448').publicKey],
    ['X25519', generateKeyPairSync('x25519').publicKey],
    ['RSASSA-PSS', generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey],
  ])('%s', (name, key) => {
    const faults = checkKey(keyOf(exported(key)));
    expect(faults).toEqual([{ code: 'unsupported_key_type', keyType: name, allowed: ['rsa', 'ecdsa'] }]);
  });
});
