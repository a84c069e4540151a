/** Writes the presentation language of TLS (RFC 8446, section 3). */
export function uint(value: number, octets: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes.subarray(8 - octets);
}

/** Octets with their number before them. @throws RangeError when there are more than its octets can tell */
export function vector(octets: number, ...contents: readonly Uint8Array[]): Buffer {
  const length = contents.reduce((sum, content) => sum + content.length, 0);
  if (length >= 256 ** octets) throw new RangeError(`${length} octets are too many for this vector`);
  return Buffer.concat([uint(length, octets), ...contents]);
}
