import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { ContractError } from './contract-error';
import { rawPublicKey, x25519PublicKey } from './keys';

export interface HpkeMessage {
  /** The encapsulated key, 32 bytes. */
  readonly enc: Uint8Array;
  /** With its tag of 16 bytes. */
  readonly ciphertext: Uint8Array;
}

const hashBytes = 32;
const aeadKeyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const aead = 'chacha20-poly1305';

/** RFC 9180, section 7: DHKEM(X25519, HKDF-SHA256) is 0x0020, HKDF-SHA256 0x0001, ChaCha20Poly1305 0x0003. */
const kemSuite = Buffer.from('KEM\x00\x20', 'latin1');
const hpkeSuite = Buffer.from('HPKE\x00\x20\x00\x01\x00\x03', 'latin1');
const baseMode = Buffer.of(0);
const empty = Buffer.alloc(0);

/**
 * Single-shot encryption in base mode (RFC 9180, section 6.1), with an empty `aad` unless there is one.
 *
 * @param receiver the raw X25519 public key
 * @param ephemeral only for test vectors: a key that is used twice reveals the plaintext
 */
export function hpkeSeal(
  receiver: Uint8Array,
  info: Uint8Array,
  plaintext: Uint8Array,
  { aad = empty, ephemeral }: { aad?: Uint8Array; ephemeral?: KeyObject } = {},
): HpkeMessage {
  const privateKey = ephemeral ?? generateKeyPairSync('x25519').privateKey;
  const enc = rawPublicKey(privateKey);
  const secret = sharedSecret(dh(privateKey, receiver), enc, receiver);
  const { key, nonce } = keySchedule(secret, info);
  const cipher = createCipheriv(aead, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(aad, { plaintextLength: plaintext.length });
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  return { enc, ciphertext };
}

/** @throws {ContractError} for a public key that nothing can be sealed to: a point of small order */
export function assertSealingKey(receiver: Uint8Array): void {
  hpkeSeal(receiver, empty, empty);
}

/** @throws {ContractError} `not_sealed_for_this` when key, `info`, `aad` or any byte differ */
export function hpkeOpen(
  receiver: KeyObject,
  info: Uint8Array,
  { enc, ciphertext }: HpkeMessage,
  { aad = empty }: { aad?: Uint8Array } = {},
): Uint8Array {
  if (ciphertext.length < tagBytes) throw notSealed();
  const secret = sharedSecret(dh(receiver, enc), enc, rawPublicKey(receiver));
  const { key, nonce } = keySchedule(secret, info);
  const length = ciphertext.length - tagBytes;
  const decipher = createDecipheriv(aead, key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(ciphertext.subarray(length));
  decipher.setAAD(aad, { plaintextLength: length });
  const plaintext = decipher.update(ciphertext.subarray(0, length));
  try {
    return Buffer.concat([plaintext, decipher.final()]);
  } catch {
    throw notSealed();
  }
}

function notSealed(): ContractError {
  return new ContractError(
    'not_sealed_for_this',
    'the ciphertext cannot be opened with this key and context',
  );
}

/** Section 7.1.4: a result of zeros, from a point of small order, is refused. OpenSSL refuses it too. */
function dh(privateKey: KeyObject, raw: Uint8Array): Buffer {
  const publicKey = x25519PublicKey(raw);
  let shared: Buffer;
  try {
    shared = diffieHellman({ privateKey, publicKey });
  } catch {
    throw new ContractError('malformed', 'a public key is a point of small order');
  }
  if (shared.every((byte) => byte === 0))
    throw new ContractError('malformed', 'a public key is a point of small order');
  return shared;
}

/** ExtractAndExpand of section 4.1. */
function sharedSecret(dhResult: Buffer, enc: Uint8Array, receiver: Uint8Array): Buffer {
  const extracted = labeledExtract(kemSuite, empty, 'eae_prk', dhResult);
  return labeledExpand(kemSuite, extracted, 'shared_secret', Buffer.concat([enc, receiver]), hashBytes);
}

/** KeySchedule of section 5.1 without a PSK; the first sequence number leaves the base nonce as it is. */
function keySchedule(secret: Buffer, info: Uint8Array): { key: Buffer; nonce: Buffer } {
  const context = Buffer.concat([
    baseMode,
    labeledExtract(hpkeSuite, empty, 'psk_id_hash', empty),
    labeledExtract(hpkeSuite, empty, 'info_hash', info),
  ]);
  const extracted = labeledExtract(hpkeSuite, secret, 'secret', empty);
  return {
    key: labeledExpand(hpkeSuite, extracted, 'key', context, aeadKeyBytes),
    nonce: labeledExpand(hpkeSuite, extracted, 'base_nonce', context, nonceBytes),
  };
}

/** Section 4. */
function labeledExtract(suite: Buffer, salt: Uint8Array, label: string, keyMaterial: Uint8Array): Buffer {
  return hmac(salt, Buffer.from('HPKE-v1'), suite, Buffer.from(label), keyMaterial);
}

/** Section 4, for at most one block of HKDF-Expand (RFC 5869, section 2.3). */
function labeledExpand(suite: Buffer, key: Buffer, label: string, info: Buffer, length: number): Buffer {
  const lengthBytes = Buffer.of(length >> 8, length & 0xff);
  const block = hmac(key, lengthBytes, Buffer.from('HPKE-v1'), suite, Buffer.from(label), info, Buffer.of(1));
  return block.subarray(0, length);
}

function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  return createHmac('sha256', key).update(Buffer.concat(parts)).digest();
}
