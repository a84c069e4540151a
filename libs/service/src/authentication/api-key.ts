import { hash } from 'node:crypto';

/** 192 bits: nobody guesses a key, so looking one up by its digest needs neither salt nor stretching. */
const randomBytesOfKey = 24;

/** `<account id>_<random>`; the random part is base64url of 24 bytes. 128 characters bound what is worth hashing. */
const apiKeyShape = /^(?=.{34,128}$)[A-Za-z0-9-]+_[A-Za-z0-9_-]+$/;

/** @param randomBytes from a cryptographic source, `node:crypto`'s `randomBytes` */
export function mintApiKey(accountId: string, randomBytes: (size: number) => Buffer): string {
  return `${accountId}_${randomBytes(randomBytesOfKey).toString('base64url')}`;
}

/** SHA-256 over the whole key as it is sent, account id included: all that the database knows of a key. */
export function apiKeySha256(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** Whether it is worth asking for: what cannot be a key costs no look-up. */
export function looksLikeApiKey(text: string): boolean {
  return apiKeyShape.test(text);
}
