/** The same octets as a Buffer, not copied. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Base64 (RFC 4648, section 4) with its padding and nothing else; null for any other text. */
export function fromBase64(text: unknown): Buffer | null {
  if (typeof text !== 'string' || text.length % 4 !== 0) return null;
  const bytes = Buffer.from(text, 'base64');
  // Buffer skips what is not in the alphabet, and takes the one for URLs too.
  if (text.includes('-') || text.includes('_')) return null;
  // So the last group shows whether all were taken, and whether bits left over are zero (section 3.5).
  const lastGroup = text.length - 4;
  return text === '' || bytes.toString('base64', (lastGroup / 4) * 3) === text.slice(lastGroup)
    ? bytes
    : null;
}
