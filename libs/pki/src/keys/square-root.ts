/** Digits of a double that an estimate starts from. */
const trustedBits = 52;

/**
 * The largest integer whose square is not above the value. Newton's method from a 52-bit estimate: each step doubles the
 * bits that are correct.
 */
export function integerSquareRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = estimateAbove(value);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** Not below the true root, which is what makes Newton's method descend to it. */
function estimateAbove(value: bigint): bigint {
  const bits = 4 * value.toString(16).length;
  // An even shift keeps the root of what is shifted out a power of two.
  const shift = Math.max(0, bits - trustedBits) & ~1;
  return BigInt(Math.ceil(Math.sqrt(Number(value >> BigInt(shift)) + 1)) + 1) << BigInt(shift / 2);
}

/** Moduli whose squares are few: one number in about 160 that is no square passes all of them. */
const sieves = [64n, 63n, 65n, 11n].map((modulus) => ({
  modulus,
  squares: new Set(Array.from({ length: Number(modulus) }, (_, i) => (BigInt(i) * BigInt(i)) % modulus)),
}));

export function isSquare(value: bigint): boolean {
  if (value < 0n || !sieves.every(({ modulus, squares }) => squares.has(value % modulus))) return false;
  const root = integerSquareRoot(value);
  return root * root === value;
}
