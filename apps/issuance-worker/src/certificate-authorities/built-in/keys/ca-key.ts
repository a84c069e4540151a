import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

/** Name of an intermediate: of its row, its key, and the files of its certificate and revocation list. */
export type IntermediateName = 'intermediate' | `intermediate-${number}`;

export interface KeyOwner {
  readonly name: IntermediateName;
  /** SubjectPublicKeyInfo of its certificate, DER. */
  readonly spki: Buffer;
}

/** The private key of an intermediate. */
export interface CaKey {
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Buffer;
  /**
   * RSASSA-PKCS1-v1_5 with SHA-256, which is deterministic: signing again returns the same bytes (decision 2). May be
   * called concurrently.
   *
   * @throws CaKeyUnavailable
   */
  sign(tbs: Uint8Array): Promise<Buffer>;
}

/**
 * Where the private keys of intermediates are: files, sealed in the database, or a token. The root key is never here.
 * testing/ca-keys-suite.ts tests this contract for every adapter.
 */
export interface CaKeys {
  /**
   * The key of that intermediate; its public key is the one of the certificate. Called again every few seconds, so
   * that a key that was added, or a token that is back, is found.
   *
   * @throws CaKeyUnavailable when the key is missing, is another one, or cannot be used
   */
  open(owner: KeyOwner): Promise<CaKey>;
  /**
   * Creates the key of a new intermediate, and stores it durably before it returns. If that key exists already, it is
   * returned unchanged. Never called by a worker.
   *
   * @param certified SubjectPublicKeyInfos (DER) of intermediates that have a certificate
   */
  create(name: IntermediateName, certified: readonly Buffer[]): Promise<CaKey>;
  close(): Promise<void>;
}

/** One line: the setting, what is wrong, and what to do. Contains no secret. */
export class CaKeyUnavailable extends Error {
  override readonly name = 'CaKeyUnavailable';
}

/** Bits of a new key of an intermediate. */
export const intermediateBits = 2048;

const signAsync = promisify<string, Uint8Array, KeyObject, Buffer>(sign);

/** A key in the memory of this process. */
export function keyInMemory(key: KeyObject): CaKey {
  return { spki: spkiOf(key), sign: async (tbs) => await signAsync('sha256', tbs, key) };
}

/** @param key private or public */
export function spkiOf(key: KeyObject): Buffer {
  return (key.type === 'private' ? createPublicKey(key) : key).export({ type: 'spki', format: 'der' });
}

/** @param place the setting and where the key is, at the beginning of the message */
export function assertKeyOf({ name, spki }: KeyOwner, key: CaKey, place: string): void {
  if (key.spki.equals(spki)) return;
  throw new CaKeyUnavailable(
    `${place} is another key than that of the certificate "${name}" in the database. Restore the key of that certificate.`,
  );
}
