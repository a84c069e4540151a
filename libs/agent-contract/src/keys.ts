import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { encodeBase64url } from './base64url';
import { ContractError } from './contract-error';

/** Bytes of a raw Ed25519 or X25519 key, public or private, and of a cluster key's seed. */
export const keyBytes = 32;
export const signatureBytes = 64;

/** Bytes of an agent's id. */
const agentIdBytes = 16;

/** RFC 8410: everything before the 32 bytes of the key, in SubjectPublicKeyInfo and in PKCS#8. */
const prefixes = {
  ed25519: { spki: '302a300506032b6570032100', pkcs8: '302e020100300506032b657004220420' },
  x25519: { spki: '302a300506032b656e032100', pkcs8: '302e020100300506032b656e04220420' },
} as const;
type Curve = keyof typeof prefixes;

/** @param raw 32 bytes (RFC 8032, section 5.1.2) @throws {ContractError} when it has another length */
export const ed25519PublicKey = (raw: Uint8Array): KeyObject => publicKey('ed25519', raw);
/** @param raw 32 bytes (RFC 7748, section 5) @throws {ContractError} when it has another length */
export const x25519PublicKey = (raw: Uint8Array): KeyObject => publicKey('x25519', raw);
/** @param seed 32 bytes (RFC 8032, section 5.1.5) @throws {ContractError} when it has another length */
export const ed25519PrivateKey = (seed: Uint8Array): KeyObject => privateKey('ed25519', seed);
/** @param raw 32 bytes @throws {ContractError} when it has another length */
export const x25519PrivateKey = (raw: Uint8Array): KeyObject => privateKey('x25519', raw);

/** The 32 bytes of the public key, of a public or private key on Curve25519. */
export function rawPublicKey(key: KeyObject): Uint8Array {
  const curve = curveOf(key);
  const publicHalf = key.type === 'private' ? createPublicKey(key) : key;
  return publicHalf.export({ format: 'der', type: 'spki' }).subarray(prefixes[curve].spki.length / 2);
}

/** The 32 bytes of the private key: the seed of Ed25519, the scalar of X25519 as it was made. */
export function rawPrivateKey(key: KeyObject): Uint8Array {
  const curve = curveOf(key);
  return key.export({ format: 'der', type: 'pkcs8' }).subarray(prefixes[curve].pkcs8.length / 2);
}

/** An agent signs its requests and the keys that it seals with it. */
export const newIdentityKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;
/** Other agents seal keys to its public half. */
export const newSealingKey = (): KeyObject => generateKeyPairSync('x25519').privateKey;

/**
 * An id that the server cannot assign: it follows from the key. 22 characters.
 *
 * @param identityKey the raw Ed25519 public key
 */
export function agentId(identityKey: Uint8Array): string {
  if (identityKey.length !== keyBytes)
    throw new ContractError('malformed', `the identity key has ${identityKey.length} bytes, not ${keyBytes}`);
  const digest = createHash('sha256').update(identityKey).digest();
  return encodeBase64url(digest.subarray(0, agentIdBytes));
}

export const isAgentId = (text: unknown): text is string =>
  typeof text === 'string' && /^[A-Za-z0-9_-]{21}[AQgw]$/.test(text);

function publicKey(curve: Curve, raw: Uint8Array): KeyObject {
  return createPublicKey({ key: der(prefixes[curve].spki, raw), format: 'der', type: 'spki' });
}

function privateKey(curve: Curve, raw: Uint8Array): KeyObject {
  return createPrivateKey({ key: der(prefixes[curve].pkcs8, raw), format: 'der', type: 'pkcs8' });
}

function der(prefix: string, raw: Uint8Array): Buffer {
  if (raw.length !== keyBytes)
    throw new ContractError('malformed', `a key has ${raw.length} bytes, not ${keyBytes}`);
  return Buffer.concat([Buffer.from(prefix, 'hex'), raw]);
}

function curveOf(key: KeyObject): Curve {
  const curve = key.asymmetricKeyType;
  if (curve === 'ed25519' || curve === 'x25519') return curve;
  throw new ContractError('malformed', `a key of type ${curve} is neither ed25519 nor x25519`);
}
