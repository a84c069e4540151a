import { createHash } from 'node:crypto';
import type { ConclusiveTest, InstallationQuestion } from '@certwright/jobs';

export type PresentedCheck = Pick<ConclusiveTest, 'correct' | 'chained' | 'temporary'>;

type Expected = Pick<InstallationQuestion, 'leafSha256' | 'chainSha256' | 'temporarySha256'>;

/**
 * By digest only: clients build a chain in any order and ignore unneeded certificates, so neither order nor
 * additional certificates matter.
 *
 * @param certificates DER, the leaf first
 */
export function checkPresented(certificates: readonly Uint8Array[], expected: Expected): PresentedCheck {
  const [leaf = '', ...others] = certificates.map(sha256Hex);
  if (expected.temporarySha256.includes(leaf)) return { correct: true, chained: true, temporary: true };
  return {
    correct: leaf === expected.leafSha256,
    chained: expected.chainSha256.every((digest) => others.includes(digest)),
    temporary: false,
  };
}

const sha256Hex = (der: Uint8Array): string => createHash('sha256').update(der).digest('hex');
