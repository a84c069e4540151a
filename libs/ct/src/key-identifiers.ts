import { createHash } from 'node:crypto';
import { asBuffer } from './octets';
import { DerCursor } from './reading/der-cursor';

const tags = { bitString: 0x03, sequence: 0x30 } satisfies Record<string, number>;

/** Octets of a SHA-1, and of what RFC 7093 leaves of a longer digest. */
const identifierOctets = 20;

/**
 * Subject key identifiers as CAs compute them from a DER SubjectPublicKeyInfo: SHA-1 over the key (RFC 5280, section 4.2.1.2, method 1),
 * SHA-256 over it, cut (RFC 7093, section 2, method 1), and both over the whole. Who has one of them has the key: an identifier that a
 * certificate merely states proves nothing.
 */
export function keyIdentifiers(spkiDer: Uint8Array): Buffer[] {
  const bytes = asBuffer(spkiDer);
  const key = keyOf(bytes);
  return [...(key === null ? [] : [key]), bytes].flatMap((octets) => [
    createHash('sha1').update(octets).digest(),
    createHash('sha256').update(octets).digest().subarray(0, identifierOctets),
  ]);
}

/** Content of the BIT STRING, without the octet that counts unused bits. */
function keyOf(bytes: Buffer): Buffer | null {
  const cursor = new DerCursor(bytes);
  if (!cursor.moveTo(0, bytes.length) || cursor.tag !== tags.sequence) return null;
  const { start, end } = cursor;
  if (!cursor.moveTo(start, end) || cursor.tag !== tags.sequence) return null;
  if (!cursor.moveTo(cursor.next, end) || cursor.tag !== tags.bitString) return null;
  return cursor.end > cursor.start ? bytes.subarray(cursor.start + 1, cursor.end) : null;
}
