import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

export type KeyKind = 'p256' | 'p384' | 'rsa2048' | 'ed25519';

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
    case 'rsa2048':
      return generateKeyPairSync('rsa', { modulusLength: 2048 });
    case 'ed25519':
      return generateKeyPairSync('ed25519');
  }
}

export interface RequestedNames {
  readonly commonName?: string;
  /** Absent: no subject alternative name extension. */
  readonly dnsNames?: readonly string[];
}

/** A PKCS #10 request as callers send it: DER in base64. */
export function certificateRequest(keys: KeyPair, { commonName, dnsNames }: RequestedNames): string {
  const subject =
    commonName === undefined
      ? sequence()
      : sequence(tlv(0x31, sequence(commonNameId, tlv(0x0c, Buffer.from(commonName)))));
  const spki = keys.publicKey.export({ type: 'spki', format: 'der' });
  const info = sequence(tlv(0x02, Buffer.of(0)), subject, spki, tlv(0xa0, ...requestedExtensions(dnsNames)));
  const signature = sign(digestOf(keys), info, keys.privateKey);
  return sequence(info, signatureAlgorithm(keys), tlv(0x03, Buffer.of(0), signature)).toString('base64');
}

function requestedExtensions(dnsNames: readonly string[] | undefined): Buffer[] {
  if (dnsNames === undefined) return [];
  const names = sequence(...dnsNames.map((name) => tlv(0x82, Buffer.from(name))));
  const extensions = sequence(sequence(alternativeNamesId, tlv(0x04, names)));
  return [sequence(extensionRequestId, tlv(0x31, extensions))];
}

function digestOf({ privateKey }: KeyPair): string | null {
  return privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
}

function signatureAlgorithm({ privateKey }: KeyPair): Buffer {
  switch (privateKey.asymmetricKeyType) {
    case 'ec':
      return sequence(id('2a8648ce3d040302'));
    case 'rsa':
      return sequence(id('2a864886f70d01010b'), tlv(0x05));
    default:
      return sequence(id('2b6570'));
  }
}

function sequence(...contents: readonly Uint8Array[]): Buffer {
  return tlv(0x30, ...contents);
}

function id(hex: string): Buffer {
  return tlv(0x06, Buffer.from(hex, 'hex'));
}

function tlv(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const commonNameId = id('550403');
const alternativeNamesId = id('551d11');
const extensionRequestId = id('2a864886f70d01090e');
