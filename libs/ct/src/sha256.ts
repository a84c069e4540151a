import { hash } from 'node:crypto';

/**
 * 64 lower-case hexadecimal digits. One-shot hashing to a string takes half the time of a Hash object, a third of a
 * Buffer's.
 */
export function sha256Hex(preimage: Uint8Array | string): string {
  return hash('sha256', preimage, 'hex');
}

export function sha256(preimage: Uint8Array): Buffer {
  return Buffer.from(hash('sha256', preimage, 'binary'), 'latin1');
}

/** Bytes of a SHA-256. */
export const sha256Length = 32;
