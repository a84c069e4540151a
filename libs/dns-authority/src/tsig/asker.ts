import { tsigErrorOf, type TsigError } from '../codes';
import { FUDGE_S, isInTime, checkMac, macOf } from './signature';
import { type TsigKey } from './tsig-key';
import { appendTsig, removeTsig } from './tsig-record';

/** The client's side: RFC 8945 sections 5.1 and 5.3. */

export interface SignedRequest {
  readonly message: Buffer;
  /** Part of the signature of its response. */
  readonly mac: Buffer;
}

/** @param nowS seconds since 1970 */
export function signRequest(message: Buffer, key: TsigKey, nowS: number): SignedRequest {
  const variables = { timeSigned: nowS, fudge: FUDGE_S, error: 0, otherData: Buffer.alloc(0) };
  const mac = macOf(key, message, variables);
  const record = {
    ...variables,
    keyName: key.name,
    algorithm: key.algorithm,
    mac,
    originalId: message.readUInt16BE(0),
  };
  return { message: appendTsig(message, record), mac };
}

export type ResponseVerdict =
  /** `response` is without the record. */
  | { readonly verdict: 'valid'; readonly response: Buffer }
  /**
   * The server rejected our signature. BADKEY, BADSIG and BADTRUNC are unsigned, so anyone on the path could send
   * them; BADTIME is signed and contains the server's clock, in seconds since 1970.
   */
  | { readonly verdict: 'refused'; readonly error: TsigError; readonly serverTimeS?: number }
  /** The response must not be trusted. */
  | { readonly verdict: 'untrusted'; readonly reason: 'unsigned' | 'other key' | 'wrong signature' | 'old' };

/**
 * @param requestMac MAC of the signed request
 * @throws WireFault unless the bytes are a message
 */
export function verifyResponse(
  response: Buffer,
  key: TsigKey,
  requestMac: Buffer,
  nowS: number,
): ResponseVerdict {
  const signed = removeTsig(response);
  if (signed === undefined) return { verdict: 'untrusted', reason: 'unsigned' };
  const { record, message } = signed;
  const error = tsigErrorOf(record.error);
  if (record.mac.length === 0) {
    // Section 5.3.2: only errors that the server cannot sign are unsigned.
    return error === undefined || error === 'BADTIME'
      ? { verdict: 'untrusted', reason: 'unsigned' }
      : { verdict: 'refused', error };
  }
  if (record.keyName !== key.name || record.algorithm !== key.algorithm) {
    return { verdict: 'untrusted', reason: 'other key' };
  }
  if (checkMac(macOf(key, message, record, requestMac), record.mac) !== 'equal') {
    return { verdict: 'untrusted', reason: 'wrong signature' };
  }
  if (error === 'BADTIME') {
    const { otherData } = record;
    return {
      verdict: 'refused',
      error,
      ...(otherData.length === 6 && { serverTimeS: otherData.readUIntBE(0, 6) }),
    };
  }
  if (!isInTime(record, nowS)) return { verdict: 'untrusted', reason: 'old' };
  if (error !== undefined) return { verdict: 'refused', error };
  // An undefined error number is not a success.
  if (record.error !== 0) return { verdict: 'untrusted', reason: 'wrong signature' };
  return { verdict: 'valid', response: message };
}
