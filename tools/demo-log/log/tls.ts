/** Writes the presentation language of TLS (RFC 8446, section 3). */
export function uint(value: number, size: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes.subarray(8 - size);
}

/** A vector with its length in `size` bytes before it. @throws RangeError when it is too long for that */
export function vector(size: number, ...contents: readonly Uint8Array[]): Buffer {
  const length = contents.reduce((sum, content) => sum + content.length, 0);
  if (length >= 256 ** size) throw new RangeError(`${length} bytes are too many for this vector`);
  return Buffer.concat([uint(length, size), ...contents]);
}
