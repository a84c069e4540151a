import { createPrivateKey, createPublicKey } from 'node:crypto';
import { parseDer } from '../der/der-element';
import { DerReader } from '../der/der-reader';
import { integerValue, bitStringBytes } from '../der/der-values';
import { encodeInteger, encodeTlv } from '../der/der-writer';

/**
 * Whether 2^(N−1) is 1 modulo N: true for every prime; false for a product of two primes, except with negligible
 * probability. Always one exponentiation: `checkPrime` would need 64 or 128 of them for a prime, so that submitting
 * one would block the process for seconds. Requires an odd N above 2^500.
 */
export function isBaseTwoFermatProbablePrime(modulus: bigint): boolean {
  return powerOfTwo(modulus - 1n, modulus) === 1n;
}

/** OBJECT IDENTIFIER dhKeyAgreement (PKCS #3). */
const dhKeyAgreement = Buffer.from('06092a864886f70d010301', 'hex');

/**
 * 2^exponent modulo an odd modulus, by OpenSSL: a fifth of the time of BigInt. node:crypto has no exponentiation
 * function, but it completes a Diffie-Hellman private key x with the public key g^x mod p, for any p.
 */
export function powerOfTwo(exponent: bigint, modulus: bigint): bigint {
  const parameters = encodeTlv(0x30, encodeInteger(modulus), encodeInteger(2n));
  const algorithm = encodeTlv(0x30, dhKeyAgreement, parameters);
  const privateKeyInfo = encodeTlv(
    0x30,
    encodeInteger(0n),
    algorithm,
    encodeTlv(0x04, encodeInteger(exponent)),
  );
  let spki: Uint8Array;
  try {
    const privateKey = createPrivateKey({ key: Buffer.from(privateKeyInfo), format: 'der', type: 'pkcs8' });
    spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  } catch {
    // A build of OpenSSL without Diffie-Hellman.
    return powerOfTwoInBigInt(exponent, modulus);
  }
  const info = DerReader.sequence(parseDer(spki), 'SubjectPublicKeyInfo');
  info.next('algorithm');
  return integerValue(parseDer(bitStringBytes(info.next('public key'), 'the public key')), 'the power');
}

/** The same by square and multiply: about 70 ms for 4096 bits instead of 15. */
export function powerOfTwoInBigInt(exponent: bigint, modulus: bigint): bigint {
  let power = 1n;
  for (const bit of exponent.toString(2)) {
    power = (power * power) % modulus;
    if (bit === '1') power = (power << 1n) % modulus;
  }
  return power;
}
