import { createHash } from 'node:crypto';

/** Lower-case hexadecimal. The preimage is the caller's to name. */
export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Only for identifiers that standards fixed (key identifiers, fingerprints that people compare); never for security.
 */
export function sha1Hex(bytes: Uint8Array): string {
  return createHash('sha1').update(bytes).digest('hex');
}
