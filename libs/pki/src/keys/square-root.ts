/** Digits of a double that an estimate starts from. */
const trustedBits = 52;

/**
 * The integer square root, rounded down. Newton's method from a 52-bit estimate: each step doubles the correct bits.
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

/** At least the true root, so that Newton's method descends to it. */
function estimateAbove(value: bigint): bigint {
  const bits = 4 * value.toString(16).length;
  // An even shift keeps the root of what is shifted out a power of two.
  const shift = Math.max(0, bits - trustedBits) & ~1;
  return BigInt(Math.ceil(Math.sqrt(Number(value >> BigInt(shift)) + 1)) + 1) << BigInt(shift / 2);
}

/** Moduli with few squares: about one in 160 non-squares passes all of them. */
const sieves = [64n, 63n, 65n, 11n].map((modulus) => ({
  modulus,
  squares: new Set(Array.from({ length: Number(modulus) }, (_, i) => (BigInt(i) * BigInt(i)) % modulus)),
}));

export function isSquare(value: bigint): boolean {
  if (value < 0n || !sieves.every(({ modulus, squares }) => squares.has(value % modulus))) return false;
  const root = integerSquareRoot(value);
  return root * root === value;
}
