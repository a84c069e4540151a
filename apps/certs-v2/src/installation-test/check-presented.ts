/** Digests are SHA-256 over the DER certificate, lower-case hex. */
export interface Expected {
  readonly leafSha256: string;
  /** The intermediates, in any order; may be empty. */
  readonly chainSha256: readonly string[];
  /** Temporary certificates that are accepted as well. */
  readonly temporarySha256: readonly string[];
}

export interface PresentedCheck {
  /** The leaf is the expected one, or a temporary one. */
  readonly correct: boolean;
  /** All intermediates were presented, whatever else was; a temporary certificate needs none. */
  readonly chained: boolean;
  readonly temporary: boolean;
}

/**
 * By digest only: clients build a chain in any order and ignore unneeded certificates, so neither order nor
 * additional certificates matter.
 *
 * @param presentedSha256 the leaf first
 */
export function checkPresented(presentedSha256: readonly string[], expected: Expected): PresentedCheck {
  const [leaf = '', ...others] = presentedSha256;
  if (expected.temporarySha256.includes(leaf)) return { correct: true, chained: true, temporary: true };
  return {
    correct: leaf === expected.leafSha256,
    chained: expected.chainSha256.every((digest) => others.includes(digest)),
    temporary: false,
  };
}
