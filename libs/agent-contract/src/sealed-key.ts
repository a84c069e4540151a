import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { decodeBase64url, decodeFixed, encodeBase64url } from './base64url';
import { ContractError } from './contract-error';
import { hpkeOpen, hpkeSeal } from './hpke';
import { agentId, ed25519PublicKey, keyBytes, rawPublicKey, signatureBytes } from './keys';
import { limits } from './limits';

/** A private key on its way from one agent to another, as JSON. Bytes are base64url. */
export interface SealedKey {
  /** Ids of agents. */
  readonly sender: string;
  readonly receiver: string;
  readonly enc: string;
  readonly ciphertext: string;
  /** Of the sender's identity key, over the context, `enc` and `ciphertext`. */
  readonly signature: string;
}

/** What a sealed key is for. It cannot be opened as anything else. */
export interface KeyBinding {
  /** Names of cluster and order. */
  readonly cluster: string;
  readonly order: string;
  /** SHA-256 over the DER SubjectPublicKeyInfo of the key, lower-case hexadecimal. */
  readonly spkiSha256: string;
  /** Ids of agents. */
  readonly sender: string;
  readonly receiver: string;
}

/** Bytes that HPKE adds: its tag. */
const hpkeTagBytes = 16;
const rsaBits: readonly number[] = [2048, 3072, 4096];
const curves: readonly string[] = ['prime256v1', 'secp384r1'];

/** The sender's own checks keep a mistake of a caller from being sealed. @throws {ContractError} */
export function sealKey({
  pkcs8,
  binding,
  receiverSealingKey,
  senderIdentityPrivateKey,
  ephemeral,
}: {
  /** DER. */
  pkcs8: Uint8Array;
  binding: KeyBinding;
  /** Raw X25519 public key, of the receiver's statement. */
  receiverSealingKey: Uint8Array;
  senderIdentityPrivateKey: KeyObject;
  /** Only for test vectors. */
  ephemeral?: KeyObject;
}): SealedKey {
  readPrivateKey(pkcs8, binding.spkiSha256);
  checkSender(binding, rawPublicKey(senderIdentityPrivateKey));
  const info = bindingBytes(binding);
  const { enc, ciphertext } = hpkeSeal(receiverSealingKey, info, pkcs8, { ephemeral });
  const signature = sign(null, signedBytes(info, enc, ciphertext), senderIdentityPrivateKey);
  return {
    sender: binding.sender,
    receiver: binding.receiver,
    enc: encodeBase64url(enc),
    ciphertext: encodeBase64url(ciphertext),
    signature: encodeBase64url(signature),
  };
}

/**
 * Verifies the signature, opens the ciphertext, and checks that the key is the one of the binding.
 *
 * @param senderIdentityKey raw Ed25519 public key, of a statement by the cluster key: never of the server's list alone
 * @returns PKCS#8 DER, as OpenSSL writes it
 * @throws {ContractError}
 */
export function openKey(
  sealed: SealedKey,
  binding: KeyBinding,
  { sealingPrivateKey, senderIdentityKey }: { sealingPrivateKey: KeyObject; senderIdentityKey: Uint8Array },
): Uint8Array {
  if (sealed.sender !== binding.sender || sealed.receiver !== binding.receiver)
    throw new ContractError('mismatch', 'the key is sealed by or for another agent');
  checkSender(binding, senderIdentityKey);
  const enc = decodeFixed(sealed.enc, 'enc', keyBytes);
  const ciphertext = decodeBase64url(sealed.ciphertext, 'ciphertext', {
    minBytes: hpkeTagBytes + 1,
    maxBytes: limits.maxPkcs8Bytes + hpkeTagBytes,
  });
  const signature = decodeFixed(sealed.signature, 'signature', signatureBytes);
  const info = bindingBytes(binding);
  if (!verify(null, signedBytes(info, enc, ciphertext), ed25519PublicKey(senderIdentityKey), signature))
    throw new ContractError(
      'bad_signature',
      'the key is not signed by its sender for this order and receiver',
    );
  return readPrivateKey(hpkeOpen(sealingPrivateKey, info, { enc, ciphertext }), binding.spkiSha256);
}

function checkSender(binding: KeyBinding, identityKey: Uint8Array): void {
  if (agentId(identityKey) !== binding.sender)
    throw new ContractError('mismatch', 'the identity key is not that of the sender');
}

/** `info` of HPKE: each part with its length before it, so that no two bindings have the same bytes. */
function bindingBytes({ cluster, order, spkiSha256, sender, receiver }: KeyBinding): Buffer {
  return Buffer.concat(
    ['certwright-sealed-key-v1', cluster, order, spkiSha256, sender, receiver].map((part) =>
      withLength(Buffer.from(part)),
    ),
  );
}

function signedBytes(info: Buffer, enc: Uint8Array, ciphertext: Uint8Array): Buffer {
  const context = withLength(Buffer.from('certwright-sealed-key-signature-v1'));
  return Buffer.concat([context, withLength(info), withLength(enc), withLength(ciphertext)]);
}

/** The length in bytes as four bytes, most significant first, then the bytes. */
function withLength(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/**
 * A key that a product can accept, whose two halves belong together: OpenSSL does not compare the public key in a PKCS#8
 * with the private one, and such a pair fails in the handshake only.
 *
 * @returns the key as OpenSSL writes it: without attributes or anything else that the sender added
 */
function readPrivateKey(pkcs8: Uint8Array, spkiSha256: string): Uint8Array {
  if (pkcs8.length > limits.maxPkcs8Bytes)
    throw new ContractError('too_large', `the private key has more than ${limits.maxPkcs8Bytes} bytes`);
  const key = parsePkcs8(pkcs8);
  const publicKey = createPublicKey(key);
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  if (createHash('sha256').update(spki).digest('hex') !== spkiSha256)
    throw new ContractError('mismatch', 'the private key is not that of the public key hash');
  const probe = Buffer.from('both halves belong together');
  if (!isAcceptable(key) || !verify('sha256', probe, publicKey, signOrNothing(probe, key)))
    throw new ContractError('malformed', 'the private key is not a usable RSA or ECDSA key');
  return key.export({ format: 'der', type: 'pkcs8' });
}

function parsePkcs8(pkcs8: Uint8Array): KeyObject {
  try {
    return createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' });
  } catch {
    throw new ContractError('malformed', 'the private key is not PKCS#8 DER');
  }
}

function isAcceptable({ asymmetricKeyType, asymmetricKeyDetails: details }: KeyObject): boolean {
  if (asymmetricKeyType === 'rsa') return rsaBits.includes(details?.modulusLength ?? 0);
  return asymmetricKeyType === 'ec' && curves.includes(details?.namedCurve ?? '');
}

function signOrNothing(data: Buffer, key: KeyObject): Uint8Array {
  try {
    return sign('sha256', data, key);
  } catch {
    return new Uint8Array();
  }
}
