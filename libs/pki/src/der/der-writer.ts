/** Writes what little DER this lib makes itself. `tag` is the whole identifier octet. */
export function encodeTlv(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, ...lengthOctets(content.length)]), content]);
}

/** X.690, section 8.3: non-negative numbers only. */
export function encodeInteger(value: bigint): Uint8Array {
  const hex = value.toString(16);
  const octets = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return encodeTlv(0x02, ...((octets[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : []), octets);
}

function lengthOctets(length: number): number[] {
  if (length < 0x80) return [length];
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return [0x80 | octets.length, ...octets];
}
