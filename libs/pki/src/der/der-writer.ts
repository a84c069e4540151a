/** Writes the few DER structures that this lib makes. `tag` is the whole identifier byte. */
export function encodeTlv(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(content.length)]), content]);
}

/** X.690, section 8.3: non-negative numbers only. */
export function encodeInteger(value: bigint): Uint8Array {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return encodeTlv(0x02, ...((bytes[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : []), bytes);
}

/** From its dotted form (X.690, section 8.19: the first two arcs share one number). */
export function encodeObjectIdentifier(dotted: string): Uint8Array {
  const [first = 0n, second = 0n, ...rest] = dotted.split('.').map(BigInt);
  return encodeTlv(0x06, Buffer.from([first * 40n + second, ...rest].flatMap(base128)));
}

/** UTCTime through 2049, GeneralizedTime from then on (RFC 5280, section 4.1.2.5). Fractions of a second are dropped. */
export function encodeTime(instant: Date): Uint8Array {
  const digits = `${instant.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  return instant.getUTCFullYear() < 2050
    ? encodeTlv(0x17, Buffer.from(digits.slice(2)))
    : encodeTlv(0x18, Buffer.from(digits));
}

function base128(number: bigint): number[] {
  const digits = [Number(number & 0x7fn)];
  for (let rest = number >> 7n; rest > 0n; rest >>= 7n) digits.unshift(Number(rest & 0x7fn) | 0x80);
  return digits;
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}
