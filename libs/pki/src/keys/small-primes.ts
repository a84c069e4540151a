/**
 * Primes below this are tried as factors: the first 168; Baseline Requirements, section 6.1.6, require those below
 * 752.
 */
const triedBelow = 1000;

export const smallPrimes: readonly bigint[] = sieve(triedBelow);

export function isSmallPrimeFactor(prime: bigint, modulus: bigint): boolean {
  return modulus % prime === 0n;
}

function sieve(limit: number): bigint[] {
  const composite = new Uint8Array(limit);
  const primes: bigint[] = [];
  for (let candidate = 2; candidate < limit; candidate++) {
    if (composite[candidate] === 1) continue;
    primes.push(BigInt(candidate));
    for (let multiple = candidate * candidate; multiple < limit; multiple += candidate)
      composite[multiple] = 1;
  }
  return primes;
}
