import { hash } from 'node:crypto';

/**
 * Lower-case hexadecimal. The preimage is the caller's to name. One-shot hashing to a string takes half the time of a Hash
 * object, a third of a Buffer's.
 */
export function sha256Hex(preimage: Uint8Array | string): string {
  return hash('sha256', preimage, 'hex');
}

export function sha256(preimage: Uint8Array | string): Buffer {
  return Buffer.from(hash('sha256', preimage, 'binary'), 'latin1');
}

/**
 * Only for identifiers that standards fixed (key identifiers, fingerprints that people compare); never for security.
 */
export function sha1Hex(bytes: Uint8Array): string {
  return hash('sha1', bytes, 'hex');
}
