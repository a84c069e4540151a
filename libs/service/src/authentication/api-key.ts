import { hash } from 'node:crypto';

/** 192 random bits cannot be guessed, so a key is looked up by its plain digest, without salt or stretching. */
const randomBytesOfKey = 24;

/** `<account id>_<random>`; the random part is base64url of 24 bytes. At most 128 characters. */
const apiKeyShape = /^(?=.{34,128}$)[A-Za-z0-9-]+_[A-Za-z0-9_-]+$/;

/** @param randomBytes from a cryptographic source, `node:crypto`'s `randomBytes` */
export function mintApiKey(accountId: string, randomBytes: (size: number) => Buffer): string {
  return `${accountId}_${randomBytes(randomBytesOfKey).toString('base64url')}`;
}

/** SHA-256 over the whole key as sent, account id included. The database stores nothing else of a key. */
export function apiKeySha256(key: string): Buffer {
  // Half as long as `buffer`, for which Node allocates memory outside of its heap.
  return Buffer.from(hash('sha256', key, 'binary'), 'binary');
}

/** A text that cannot be a key is not looked up. */
export function looksLikeApiKey(text: string): boolean {
  return apiKeyShape.test(text);
}
