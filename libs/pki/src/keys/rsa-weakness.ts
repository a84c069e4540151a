import { isSmallPrimeFactor, smallPrimes } from './small-primes';
import { hasRocaFingerprint } from './roca';
import { isBaseTwoFermatProbablePrime } from './fermat-test';
import { integerSquareRoot, isSquare } from './square-root';

/**
 * 2^16 + 1. Baseline Requirements, section 6.1.6, allow any odd exponent from 3 and recommend this one or more; every
 * CA accepts it and every library uses it.
 */
const requiredExponent = 65537n;

/**
 * Rounds of Fermat's factorization that a key must withstand (Baseline Requirements, section 6.1.1.3). More rounds
 * find primes that are slightly farther apart; properly generated ones differ in their first hundred bits.
 */
const fermatRounds = 100;

export type RsaWeakness =
  /** A public exponent other than 65537. */
  | 'exponent'
  | 'not_positive'
  | 'even'
  | 'small_factor'
  /** Made by a flawed generator (CVE-2017-15361). */
  | 'roca'
  | 'close_primes'
  | 'prime'
  | 'square';

/**
 * Why an RSA key of an allowed size must not be certified; undefined when no weakness is known. The cheap checks come
 * first; together they cost a small part of the last one, an exponentiation as long as the modulus.
 */
export function rsaWeakness(modulus: bigint, exponent: bigint): RsaWeakness | undefined {
  if (exponent !== requiredExponent) return 'exponent';
  if (modulus <= 0n) return 'not_positive';
  if ((modulus & 1n) === 0n) return 'even';
  if (smallPrimes.some((prime) => isSmallPrimeFactor(prime, modulus))) return 'small_factor';
  if (hasRocaFingerprint(modulus)) {
    return 'roca';
  }
  const closeness = closePrimes(modulus);
  if (closeness !== undefined) return closeness;
  if (isBaseTwoFermatProbablePrime(modulus)) return 'prime';
  return undefined;
}

/**
 * Fermat's factorization: N = a² − b² for the a next above the root of N when the primes are close (CVE-2022-26320).
 * The difference a² − N grows by 2a + 1 from one a to the next, so that a round is one addition and one test.
 */
function closePrimes(modulus: bigint): RsaWeakness | undefined {
  const root = integerSquareRoot(modulus);
  if (root * root === modulus) return 'square';
  let a = root + 1n;
  let difference = a * a - modulus;
  for (let round = 0; round < fermatRounds; round++) {
    if (isSquare(difference)) return 'close_primes';
    difference += 2n * a + 1n;
    a += 1n;
  }
  return undefined;
}
