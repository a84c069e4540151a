import { ContractError } from './contract-error';

export function encodeBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
}

/**
 * The canonical form (RFC 4648, section 5): no padding, no stray bits. `Buffer.from` skips invalid characters, so the
 * bytes are encoded again and compared.
 *
 * @param what names the value in the error
 * @throws {ContractError} for another form, and for more or fewer bytes
 */
export function decodeBase64url(
  text: unknown,
  what: string,
  { minBytes, maxBytes }: { minBytes: number; maxBytes: number },
): Uint8Array {
  if (typeof text !== 'string') throw new ContractError('malformed', `${what} is not a string`);
  if (text.length > Math.ceil((4 * maxBytes) / 3))
    throw new ContractError('too_large', `${what} has more than ${maxBytes} bytes`);
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text)
    throw new ContractError('malformed', `${what} is not base64url without padding`);
  if (bytes.length < minBytes)
    throw new ContractError('malformed', `${what} has fewer than ${minBytes} bytes`);
  return bytes;
}

/** @throws {ContractError} unless it is canonical base64url of exactly `length` bytes */
export function decodeFixed(text: unknown, what: string, length: number): Uint8Array {
  return decodeBase64url(text, what, { minBytes: length, maxBytes: length });
}
