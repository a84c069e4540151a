import { checkPrimeSync, createECDH, createHash, createPublicKey } from 'node:crypto';
import { DebianRandom, type Origin, platforms } from './debian-random';

export const keyKinds = ['rsa2048', 'rsa3072', 'rsa4096', 'p256', 'p384'] as const;
export type KeyKind = (typeof keyKinds)[number];

const curves = {
  p256: {
    name: 'prime256v1',
    jwk: 'P-256',
    order: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  },
  p384: {
    name: 'secp384r1',
    jwk: 'P-384',
    order:
      0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  },
} as const;

/**
 * The key that `openssl genrsa`, `openssl req` or `openssl ecparam -genkey` made.
 *
 * @returns SHA-256 over the DER SubjectPublicKeyInfo
 */
export function debianKeyDigest(kind: KeyKind, origin: Origin): Buffer {
  const numbers = new Numbers(origin);
  const jwk =
    kind === 'p256' || kind === 'p384' ? ecKey(kind, numbers) : rsaKey(Number(kind.slice(3)), numbers);
  const spki = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(spki).digest();
}

/** `EC_KEY_generate_key` */
function ecKey(kind: 'p256' | 'p384', numbers: Numbers) {
  const { name, jwk, order } = curves[kind];
  let secret = 0n;
  while (secret === 0n) secret = numbers.below(order);
  const pair = createECDH(name);
  pair.setPrivateKey(toBytes(secret));
  const coordinates = pair.getPublicKey().subarray(1);
  const half = coordinates.length / 2;
  const [x, y] = [coordinates.subarray(0, half), coordinates.subarray(half)];
  return { kty: 'EC', crv: jwk, x: x.toString('base64url'), y: y.toString('base64url') };
}

/** `RSA_generate_key_ex` with the exponent 65537 */
function rsaKey(bits: number, numbers: Numbers) {
  const factor = () => {
    for (;;) {
      const prime = numbers.prime(bits / 2);
      if (prime % 65537n !== 1n) return prime;
    }
  };
  const modulus = factor() * factor();
  return { kty: 'RSA', n: toBytes(modulus).toString('base64url'), e: 'AQAB' };
}

/** `crypto/bn` of OpenSSL 0.9.8, as far as it takes random numbers. */
class Numbers {
  private readonly random: DebianRandom;
  private readonly timeBytes: number;

  constructor(origin: Origin) {
    this.random = new DebianRandom(origin);
    this.timeBytes = platforms[origin.platform].longBytes;
  }

  /** `BN_rand_range` for a range whose two highest bits are set */
  below(range: bigint): bigint {
    const bits = range.toString(2).length;
    for (;;) {
      const candidate = fromBytes(this.bits(bits));
      if (candidate < range) return candidate;
    }
  }

  /** `BN_generate_prime_ex` */
  prime(bits: number): bigint {
    for (;;) {
      const candidate = this.withoutSmallFactor(bits);
      // Every Miller-Rabin round takes a random base; the first round finds out a composite number.
      this.below(candidate - 1n);
      if (!checkPrimeSync(candidate, { checks: 1 })) continue;
      for (let round = 1; round < millerRabinRounds(bits); round++) this.below(candidate - 1n);
      return candidate;
    }
  }

  /** `probable_prime` */
  private withoutSmallFactor(bits: number): bigint {
    const bytes = this.bits(bits);
    bytes[0] = (bytes[0] ?? 0) | 0xc0;
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
    const start = fromBytes(bytes);
    const residues = oddPrimes.map((prime) => Number(start % BigInt(prime)));
    let delta = 0;
    while (oddPrimes.some((prime, at) => ((residues[at] ?? 0) + delta) % prime <= 1)) delta += 2;
    return start + BigInt(delta);
  }

  /** `BN_rand`: mixes in the time first. The sizes here are whole bytes. */
  private bits(bits: number): Buffer {
    this.random.seed(this.timeBytes);
    return this.random.bytes(bits / 8);
  }
}

/** `BN_prime_checks_for_size` */
function millerRabinRounds(bits: number): number {
  return bits >= 1300 ? 2 : 3;
}

/** The odd ones of the 2048 primes in `bn_prime.h`. */
const oddPrimes = (() => {
  const primes: number[] = [];
  for (let number = 3; primes.length < 2047; number += 2) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  return primes;
})();

function fromBytes(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`);
}

function toBytes(number: bigint): Buffer {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}
