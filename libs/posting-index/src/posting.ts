/**
 * Takes postings in order: by key, and by position under one key. A posting maps a key to an issuance; plain numbers,
 * since there are hundreds of millions.
 *
 * @param key its first six bytes, big-endian: fewer than `keySpace`
 * @param day by whose end the issuance has expired, since 1970; `expiryDay`
 */
export type TakePosting = (key: number, position: number, day: number) => void;

/**
 * Six bytes of a key are kept, which is what a number of JavaScript holds exactly: among 10^10 names each shares its key with
 * another one by a chance of 1 in 30,000, and names are checked again on the row.
 */
export const keyBytes = 6;
export const keySpace = 2 ** 48;

/** Bytes of a key as it comes. */
const indexKeyBytes = 8;

/** Keys fall into shards by their first four bits: a distributed table keeps all blocks of a key together. */
const shards = 16;
export const keysPerShard = keySpace / shards;

const dayMs = 86_400_000;

/** @throws RangeError for a key shorter than six bytes */
export function keyNumber(key: Buffer, at = 0): number {
  return key.readUInt16BE(at) * 2 ** 32 + key.readUInt32BE(at + 2);
}

/**
 * Of keys of eight bytes in hexadecimal digits; all at once, as a Buffer for each takes three times as long.
 *
 * @throws RangeError when one of them is no such key
 */
export function keyNumbers(keys: readonly string[]): Float64Array {
  const bytes = Buffer.from(keys.join(''), 'hex');
  if (bytes.length !== keys.length * indexKeyBytes) throw new RangeError('a key has eight bytes');
  const numbers = new Float64Array(keys.length);
  for (let nth = 0; nth < keys.length; nth += 1) numbers[nth] = keyNumber(bytes, nth * indexKeyBytes);
  return numbers;
}

export function shardOf(key: number): number {
  return Math.floor(key / keysPerShard);
}

/** Rounded up: what has not expired is never taken for expired. */
export function expiryDay(notAfter: Date): number {
  return Math.max(0, Math.ceil(notAfter.getTime() / dayMs));
}

/** The first day by whose end an issuance that is alive at `now` can have expired. */
export function firstLivingDay(now: Date): number {
  return expiryDay(now);
}
