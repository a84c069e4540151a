import { parseName, type DnsName } from '../name';

/**
 * RFC 8945 section 6. HMAC-MD5 and HMAC-SHA1 are omitted on purpose: the first is forbidden, and every implementation
 * of the second supports a better one.
 */
export const TSIG_ALGORITHMS = {
  'hmac-sha256': { hash: 'sha256', macBytes: 32 },
  'hmac-sha384': { hash: 'sha384', macBytes: 48 },
  'hmac-sha512': { hash: 'sha512', macBytes: 64 },
} as const;
export type TsigAlgorithm = keyof typeof TSIG_ALGORITHMS;

/** A shared secret. Both sides must use the same name, since it is signed as well. */
export interface TsigKey {
  readonly name: DnsName;
  readonly algorithm: TsigAlgorithm;
  readonly secret: Buffer;
}

/** 128 bits. RFC 8945 section 8 recommends the length of the digest; shorter secrets than this can be guessed. */
const MIN_SECRET_BYTES = 16;
const MAX_SECRET_BYTES = 512;

/** The invalid part of a key, and the rule. The rule never repeats the value. */
export interface TsigKeyFault {
  readonly part: 'name' | 'algorithm' | 'secret';
  readonly rule: string;
}

/** @param written the secret in base64 (RFC 4648 section 4), name and algorithm in any case */
export function readTsigKey(
  written: Record<'name' | 'algorithm' | 'secret', string>,
): TsigKey | TsigKeyFault {
  const name = parseName(written.name);
  if (name === undefined)
    return { part: 'name', rule: 'must be a domain name such as update-key.example.com' };
  const algorithm = written.algorithm.toLowerCase().replace(/\.$/, '');
  if (!isTsigAlgorithm(algorithm)) {
    return { part: 'algorithm', rule: `must be one of ${Object.keys(TSIG_ALGORITHMS).join(', ')}` };
  }
  const secret = Buffer.from(written.secret, 'base64');
  // Decoding skips invalid characters, so that two texts would be one secret.
  if (secret.toString('base64') !== written.secret) {
    return { part: 'secret', rule: 'must be base64, as in the key file' };
  }
  if (secret.length < MIN_SECRET_BYTES || secret.length > MAX_SECRET_BYTES) {
    return { part: 'secret', rule: `must be ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes` };
  }
  return { name, algorithm, secret };
}

function isTsigAlgorithm(text: string): text is TsigAlgorithm {
  return Object.hasOwn(TSIG_ALGORITHMS, text);
}
