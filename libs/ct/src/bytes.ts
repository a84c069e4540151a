/** The same bytes as a Buffer, not copied. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Base64 (RFC 4648, section 4) with its padding and nothing else; null for any other text. */
export function fromBase64(text: unknown): Buffer | null {
  if (typeof text !== 'string' || text.length % 4 !== 0) return null;
  // Buffer takes the alphabet for URLs, too.
  if (text.includes('-') || text.includes('_')) return null;
  const bytes = Buffer.from(text, 'base64');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  // It skips what is not in the alphabet: then there are fewer bytes.
  if (bytes.length !== (text.length / 4) * 3 - padding) return null;
  // Bits left over are zero (section 3.5).
  return padding === 0 || bytes.toString('base64', bytes.length - (3 - padding)) === text.slice(-4)
    ? bytes
    : null;
}

/** What each byte of base64 stands for; 0 where it is not in the alphabet, too. */
export const base64Digits: Uint8Array = new Uint8Array(256);
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
for (const [value, byte] of Buffer.from(alphabet).entries()) base64Digits[byte] = value;
