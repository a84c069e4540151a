import { createHmac, timingSafeEqual } from 'node:crypto';
import { CLASS } from '../codes';
import { nameBytes } from '../name';
import { TSIG_ALGORITHMS, type TsigKey } from './tsig-key';
import { type TsigRecord, timeBytes, twoBytes } from './tsig-record';

/** RFC 8945 section 10: maximum clock difference in seconds. */
export const FUDGE_S = 300;

/** The signed fields of a record. */
export type SignedVariables = Pick<TsigRecord, 'timeSigned' | 'fudge' | 'error' | 'otherData'>;

/**
 * Section 4.3: MAC over the request's MAC (in a response), the message without the record, and the record's variables
 * with names in canonical form.
 */
export function macOf(
  key: TsigKey,
  message: Buffer,
  variables: SignedVariables,
  requestMac?: Buffer,
): Buffer {
  const { timeSigned, fudge, error, otherData } = variables;
  const classAndTtl = twoBytes(CLASS.ANY, 0, 0);
  const hmac = createHmac(TSIG_ALGORITHMS[key.algorithm].hash, key.secret);
  if (requestMac !== undefined) hmac.update(twoBytes(requestMac.length)).update(requestMac);
  return hmac
    .update(message)
    .update(nameBytes(key.name))
    .update(classAndTtl)
    .update(nameBytes(key.algorithm))
    .update(timeBytes(timeSigned))
    .update(twoBytes(fudge, error, otherData.length))
    .update(otherData)
    .digest();
}

export type MacCheck = 'equal' | 'different' | 'truncated' | 'malformed';

/**
 * Only complete MACs are accepted (section 5.2.2.1 leaves it to the receiver). A size below the larger of ten bytes
 * and half the digest, or above the digest, is malformed.
 */
export function checkMac(expected: Buffer, received: Buffer): MacCheck {
  if (received.length === expected.length) return timingSafeEqual(received, expected) ? 'equal' : 'different';
  const shortest = Math.max(10, expected.length / 2);
  return received.length > expected.length || received.length < shortest ? 'malformed' : 'truncated';
}

/** Section 5.2.3, in both directions, within the sender's fudge but no more than ours. */
export function isInTime({ timeSigned, fudge }: TsigRecord, nowS: number): boolean {
  return Math.abs(nowS - timeSigned) <= Math.min(fudge, FUDGE_S);
}
