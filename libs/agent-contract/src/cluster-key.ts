import { createHash, type KeyObject, randomBytes } from 'node:crypto';
import { ed25519PrivateKey, keyBytes, rawPublicKey } from './keys';

/** Admits agents to a cluster. Only the operator's command and, while it enrols, an agent have it. */
export interface ClusterKey {
  /** 32 bytes: the private half. */
  readonly seed: Uint8Array;
  readonly privateKey: KeyObject;
  /** 32 bytes: what the server stores and agents pin. */
  readonly publicKey: Uint8Array;
}

/** @param seed 32 bytes @throws {ContractError} when it has another length */
export function clusterKeyFromSeed(seed: Uint8Array): ClusterKey {
  const privateKey = ed25519PrivateKey(seed);
  return { seed, privateKey, publicKey: rawPublicKey(privateKey) };
}

export function newClusterKey(): ClusterKey {
  return clusterKeyFromSeed(randomBytes(keyBytes));
}

/** SHA-256 over the 32 bytes of the public half, lower-case hexadecimal. */
export function clusterKeySha256(publicKey: Uint8Array): string {
  return createHash('sha256').update(publicKey).digest('hex');
}
