import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { objectId, sequence, tlv } from './der';

export type KeyKind = 'p256' | 'p384' | 'p521' | 'rsa1024' | 'rsa2048' | 'ed25519';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function keyPair(kind: KeyKind): KeyPair {
  switch (kind) {
    case 'p256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' });
    case 'p384':
      return generateKeyPairSync('ec', { namedCurve: 'P-384' });
    case 'p521':
      return generateKeyPairSync('ec', { namedCurve: 'P-521' });
    case 'rsa1024':
      return generateKeyPairSync('rsa', { modulusLength: 1024 });
    case 'rsa2048':
      return generateKeyPairSync('rsa', { modulusLength: 2048 });
    case 'ed25519':
      return generateKeyPairSync('ed25519');
  }
}

export function spkiOf(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

/** The attribute of a request for a subject alternative name extension of these names. */
export function requestedNames(dnsNames: readonly string[]): Buffer {
  const names = sequence(...dnsNames.map((name) => tlv(0x82, Buffer.from(name))));
  const extensions = sequence(sequence(objectId('551d11'), tlv(0x04, names)));
  return sequence(objectId('2a864886f70d01090e'), tlv(0x31, extensions));
}

/**
 * A PKCS #10 request.
 *
 * @param subject DER Name
 * @param attributes DER
 */
export function certificationRequest(
  keys: KeyPair,
  subject: Uint8Array,
  ...attributes: readonly Uint8Array[]
): Buffer {
  const info = sequence(tlv(0x02, Buffer.of(0)), subject, spkiOf(keys.publicKey), tlv(0xa0, ...attributes));
  const signature = sign(digestOf(keys), info, keys.privateKey);
  return sequence(info, signatureAlgorithm(keys), tlv(0x03, Buffer.of(0), signature));
}

function digestOf({ privateKey }: KeyPair): string | null {
  return privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
}

function signatureAlgorithm({ privateKey }: KeyPair): Buffer {
  switch (privateKey.asymmetricKeyType) {
    case 'ec':
      return sequence(objectId('2a8648ce3d040302'));
    case 'rsa':
      return sequence(objectId('2a864886f70d01010b'), tlv(0x05));
    default:
      return sequence(objectId('2b6570'));
  }
}
