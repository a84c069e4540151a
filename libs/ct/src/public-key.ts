import { createHash } from 'node:crypto';
import { sha256 } from '@certwright/pki';
import { asBuffer } from './bytes';
import { DerCursor } from './reading/der-cursor';
import { readObjectIdentifier } from './reading/object-identifier';

export type EllipticCurve = 'P-256' | 'P-384' | 'P-521' | 'unknown';

/** Type of the key. `unknown` includes unreadable keys. */
export type PublicKey =
  | { readonly type: 'rsa'; /** Of the modulus. */ readonly bitLength: number }
  | { readonly type: 'ecdsa'; readonly curve: EllipticCurve }
  | { readonly type: 'unknown' };

const unknownKey: PublicKey = { type: 'unknown' };

const [sequence, bitString, integer] = [0x30, 0x03, 0x02];

/** rsaEncryption, and id-RSASSA-PSS for keys restricted to PSS (RFC 4055, section 1.2). */
const rsa: ReadonlySet<string> = new Set(['1.2.840.113549.1.1.1', '1.2.840.113549.1.1.10']);

/** id-ecPublicKey (RFC 5480, section 2.1.1). */
const ellipticCurve = '1.2.840.10045.2.1';

/** RFC 5480, section 2.1.1.1. */
const curves: ReadonlyMap<string, EllipticCurve> = new Map([
  ['1.2.840.10045.3.1.7', 'P-256'],
  ['1.3.132.0.34', 'P-384'],
  ['1.3.132.0.35', 'P-521'],
]);

/** Reads a DER SubjectPublicKeyInfo, as leniently as certificates are read: never throws. */
export function readPublicKey(spkiDer: Uint8Array): PublicKey {
  const cursor = new DerCursor(asBuffer(spkiDer));
  if (!cursor.moveTo(0, spkiDer.length) || cursor.tag !== sequence) return unknownKey;
  const { start, end } = cursor;
  if (!cursor.moveTo(start, end) || cursor.tag !== sequence) return unknownKey;
  const algorithm = cursor.span();
  const type = cursor.moveTo(algorithm.start, algorithm.end) ? readObjectIdentifier(cursor) : null;
  if (type === ellipticCurve) {
    // Parameters that are not a named curve, or absent.
    const curve = cursor.moveTo(cursor.next, algorithm.end) ? readObjectIdentifier(cursor) : null;
    return { type: 'ecdsa', curve: curves.get(curve ?? '') ?? 'unknown' };
  }
  if (type === null || !rsa.has(type)) return unknownKey;
  const bitLength = cursor.moveTo(algorithm.next, end) ? modulusBits(cursor) : 0;
  return bitLength > 0 ? { type: 'rsa', bitLength } : unknownKey;
}

/**
 * From the RSAPublicKey (RFC 8017, appendix A.1.1) in the BIT STRING at the cursor. A modulus is never negative, so one
 * that lacks its leading zero byte is read as positive.
 */
function modulusBits(cursor: DerCursor): number {
  if (cursor.tag !== bitString) return 0;
  // The first byte is the number of unused bits.
  if (!cursor.moveTo(cursor.start + 1, cursor.end) || cursor.tag !== sequence) return 0;
  if (!cursor.moveTo(cursor.start, cursor.end) || cursor.tag !== integer) return 0;
  const { bytes, end } = cursor;
  let at = cursor.start;
  while (at < end && bytes[at] === 0) at++;
  return at === end ? 0 : (end - at) * 8 - (Math.clz32(bytes[at] ?? 0) - 24);
}

const tags = { bitString: 0x03, sequence: 0x30 } satisfies Record<string, number>;

/** Bytes of a SHA-1, and of a longer digest truncated by RFC 7093. */
const identifierBytes = 20;

/**
 * Subject key identifiers as CAs compute them from a DER SubjectPublicKeyInfo: SHA-1 over the key (RFC 5280, section 4.2.1.2, method 1),
 * SHA-256 over it, truncated (RFC 7093, section 2, method 1), and both over the whole. They prove the key, whereas an identifier
 * that a certificate merely contains proves nothing.
 */
export function keyIdentifiers(spkiDer: Uint8Array): Buffer[] {
  const bytes = asBuffer(spkiDer);
  const key = keyOf(bytes);
  return [...(key === null ? [] : [key]), bytes].flatMap((input) => [
    createHash('sha1').update(input).digest(),
    sha256(input).subarray(0, identifierBytes),
  ]);
}

/** Content of the BIT STRING, without the byte with the number of unused bits. */
function keyOf(bytes: Buffer): Buffer | null {
  const cursor = new DerCursor(bytes);
  if (!cursor.moveTo(0, bytes.length) || cursor.tag !== tags.sequence) return null;
  const { start, end } = cursor;
  if (!cursor.moveTo(start, end) || cursor.tag !== tags.sequence) return null;
  if (!cursor.moveTo(cursor.next, end) || cursor.tag !== tags.bitString) return null;
  return cursor.end > cursor.start ? bytes.subarray(cursor.start + 1, cursor.end) : null;
}
