/** Encodes DER without any checks, so also invalid DER. */
export function tlv(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  if (content.length < 0x80) return Buffer.concat([Buffer.of(tag, content.length), content]);
  const digits = content.length.toString(16);
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.of(tag, 0x80 | length.length), length, content]);
}

export const sequence = (...contents: readonly Uint8Array[]): Buffer => tlv(0x30, ...contents);

/** @param hex content of the OBJECT IDENTIFIER */
export const objectId = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, 'hex'));
