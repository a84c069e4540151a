import { createHash } from 'node:crypto';

export function sha256(...preimage: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const piece of preimage) hash.update(piece);
  return hash.digest();
}
