export type Base64Fault = 'empty' | 'too_long' | 'not_canonical';

export type DecodedBase64 =
  { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly fault: Base64Fault };

/**
 * The canonical encoding of some bytes (RFC 4648, section 4): no line breaks, full padding, no stray bits in the last
 * character. `Buffer.from` skips invalid characters, so the bytes are encoded again and compared.
 */
export function decodeBase64(text: string, maxBytes: number): DecodedBase64 {
  if (text === '') return { ok: false, fault: 'empty' };
  if (text.length > 4 * Math.ceil(maxBytes / 3)) return { ok: false, fault: 'too_long' };
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) return { ok: false, fault: 'not_canonical' };
  return bytes.length > maxBytes ? { ok: false, fault: 'too_long' } : { ok: true, bytes };
}
