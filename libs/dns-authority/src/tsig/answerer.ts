import { TSIG_ERROR, type TsigError } from '../codes';
import { nameBytes } from '../name';
import { WireFault } from '../wire-fault';
import { FUDGE_S, isInTime, checkMac, macOf } from './signature';
import { TSIG_ALGORITHMS, type TsigKey } from './tsig-key';
import { appendTsig, removeTsig, timeBytes, type TsigRecord } from './tsig-record';

/** The server's side: RFC 8945 sections 5.2 and 5.3. */

/** How to sign the response to a signed request. */
export interface ResponseSigning {
  readonly request: TsigRecord;
  /** Absent: the response has the record with an error and no MAC. */
  readonly key?: TsigKey;
  readonly error?: TsigError;
}

export type RequestVerdict =
  | { readonly verdict: 'unsigned' }
  /** `message` is without the record. */
  | { readonly verdict: 'valid'; readonly message: Buffer; readonly signing: ResponseSigning }
  /** The response is NOTAUTH. */
  | { readonly verdict: 'refused'; readonly signing: ResponseSigning };

/**
 * Checks key, MAC and time, in the order of section 5.2, so that only holders of the key learn our clock.
 *
 * @param nowS seconds since 1970
 * @throws WireFault also for a MAC of an invalid size
 */
export function verifyRequest(request: Buffer, keys: readonly TsigKey[], nowS: number): RequestVerdict {
  const signed = removeTsig(request);
  if (signed === undefined) return { verdict: 'unsigned' };
  const { record, message } = signed;
  const refused = (error: TsigError, key?: TsigKey): RequestVerdict => ({
    verdict: 'refused',
    signing: { request: record, error, ...(key !== undefined && { key }) },
  });
  const key = keys.find(({ name, algorithm }) => name === record.keyName && algorithm === record.algorithm);
  if (key === undefined) return refused('BADKEY');
  const mac = checkMac(macOf(key, message, record), record.mac);
  if (mac === 'malformed') throw new WireFault('a MAC of an impossible size');
  if (mac === 'truncated') return refused('BADTRUNC');
  if (mac === 'different') return refused('BADSIG');
  if (!isInTime(record, nowS)) return refused('BADTIME', key);
  return { verdict: 'valid', message, signing: { request: record, key } };
}

/** The response with its TSIG record. */
export function signResponse(response: Buffer, signing: ResponseSigning, nowS: number): Buffer {
  const { request, key, error } = signing;
  const isLate = error === 'BADTIME';
  const variables = {
    // Section 5.2.3: a client with a wrong clock must still accept the response as fresh.
    timeSigned: isLate ? request.timeSigned : nowS,
    fudge: isLate ? request.fudge : FUDGE_S,
    error: error === undefined ? 0 : TSIG_ERROR[error],
    otherData: isLate ? timeBytes(nowS) : Buffer.alloc(0),
  };
  return appendTsig(response, {
    ...variables,
    keyName: request.keyName,
    algorithm: request.algorithm,
    mac: key === undefined ? Buffer.alloc(0) : macOf(key, response, variables, request.mac),
    originalId: response.readUInt16BE(0),
  });
}

/** Bytes that `signResponse` adds. */
export function signingBytes({ request, key, error }: ResponseSigning): number {
  const names = nameBytes(request.keyName).length + nameBytes(request.algorithm).length;
  const mac = key === undefined ? 0 : TSIG_ALGORITHMS[key.algorithm].macBytes;
  return names + mac + 26 + (error === 'BADTIME' ? 6 : 0);
}
