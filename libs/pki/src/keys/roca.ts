import { smallPrimes } from './small-primes';

/**
 * Keys of Infineon's library have primes k·M + (65537^a mod M), M being the product of the first primes ("The Return of
 * Coppersmith's Attack", Nemec et al., 2017, section 2). So for each of those primes, N is a power of 65537.
 */
const generator = 65537n;

/** The maximum prime of M for the shortest keys; longer keys only add primes to these. */
const maxPrime = 167n;

/** Per prime, the residues that are powers of the generator; primes for which all residues are powers are useless. */
const fingerprints = smallPrimes
  .filter((prime) => prime > 2n && prime <= maxPrime)
  .map((prime) => ({ prime, residues: powersModulo(prime) }))
  .filter(({ prime, residues }) => residues.size < Number(prime) - 1);

/** CVE-2017-15361. About one in 2^27 other keys is a false positive (a spec checks that number). */
export function hasRocaFingerprint(modulus: bigint): boolean {
  return fingerprints.every(({ prime, residues }) => residues.has(modulus % prime));
}

/** The chance that a random modulus without small factors has the fingerprint. */
export function rocaFalsePositiveRate(): number {
  return fingerprints.reduce((rate, { prime, residues }) => (rate * residues.size) / (Number(prime) - 1), 1);
}

function powersModulo(prime: bigint): ReadonlySet<bigint> {
  const powers = new Set<bigint>();
  for (let power = 1n; !powers.has(power); power = (power * generator) % prime) powers.add(power);
  return powers;
}
