/** The same bytes as a Buffer, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Decodes padded base64 (RFC 4648, section 4); null for any other text. */
export function fromBase64(text: unknown): Buffer | null {
  if (typeof text !== 'string' || text.length % 4 !== 0) return null;
  // Buffer accepts the URL alphabet, too.
  if (text.includes('-') || text.includes('_')) return null;
  const bytes = Buffer.from(text, 'base64');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  // It skips invalid characters: then there are fewer bytes.
  if (bytes.length !== (text.length / 4) * 3 - padding) return null;
  // Trailing bits must be zero (section 3.5).
  return padding === 0 || bytes.toString('base64', bytes.length - (3 - padding)) === text.slice(-4)
    ? bytes
    : null;
}

/** Value of each base64 character; also 0 for invalid ones. */
export const base64Digits: Uint8Array = new Uint8Array(256);
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
for (const [value, byte] of Buffer.from(alphabet).entries()) base64Digits[byte] = value;
