import { encodeInteger, encodeTlv } from '../der/der-writer';

/** Writes DER without any checks, so also invalid DER. */
export const tlv = encodeTlv;
export const seq = (...parts: readonly Uint8Array[]) => tlv(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]) => tlv(0x31, ...parts);
export const int = (value: bigint | number) => encodeInteger(BigInt(value));
export const octetString = (...parts: readonly Uint8Array[]) => tlv(0x04, ...parts);
export const bits = (content: Uint8Array, unused = 0) => tlv(0x03, Buffer.from([unused]), content);
export const nul = () => tlv(0x05);
export const utf8 = (text: string) => tlv(0x0c, Buffer.from(text));
export const bool = (byte: number) => tlv(0x01, Buffer.from([byte]));
export const fromHex = (hex: string) => Buffer.from(hex, 'hex');

export function oid(dotted: string): Uint8Array {
  const [first = 0n, second = 0n, ...rest] = dotted.split('.').map(BigInt);
  return tlv(0x06, Buffer.from([first * 40n + second, ...rest].flatMap(base128)));
}

function base128(number: bigint): number[] {
  const digits = [Number(number & 0x7fn)];
  for (let rest = number >> 7n; rest > 0n; rest >>= 7n) digits.unshift(Number(rest & 0x7fn) | 0x80);
  return digits;
}
