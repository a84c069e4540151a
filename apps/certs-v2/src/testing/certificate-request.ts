import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

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

/** SHA-256 over the DER SubjectPublicKeyInfo, lower-case hex. */
export function pubkeyHash({ publicKey }: KeyPair): string {
  return createHash('sha256').update(spkiOf(publicKey)).digest('hex');
}

/** Subject of the request; an attribute is repeated for each of its values. */
export interface RequestedSubject {
  readonly CN?: string | readonly string[];
  /** Default `GB`; an empty list omits it. */
  readonly C?: string | readonly string[];
}

export interface RequestForm {
  readonly label?: string;
  /** ASN.1 tag of the country; default PrintableString. */
  readonly countryTag?: number;
}

/** A PKCS #10 request as callers of this API send it: PEM, ends with a newline. */
export function certificateRequest(
  keys: KeyPair,
  subject: RequestedSubject,
  { label = 'CERTIFICATE REQUEST', countryTag = 0x13 }: RequestForm = {},
): string {
  const attributes = [
    ...[subject.C ?? 'GB'].flat().map((value) => attribute(countryId, countryTag, value)),
    ...[subject.CN ?? []].flat().map((value) => attribute(commonNameId, 0x0c, value)),
  ];
  const info = sequence(tlv(0x02, Buffer.of(0)), sequence(...attributes), spkiOf(keys.publicKey), tlv(0xa0));
  const signature = sign(digestOf(keys), info, keys.privateKey);
  const der = sequence(info, signatureAlgorithm(keys), tlv(0x03, Buffer.of(0), signature));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

function attribute(type: Buffer, tag: number, value: string): Buffer {
  return tlv(0x31, sequence(type, tlv(tag, Buffer.from(value))));
}

export function spkiOf(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
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

export function sequence(...contents: readonly Uint8Array[]): Buffer {
  return tlv(0x30, ...contents);
}

export function objectId(hex: string): Buffer {
  return tlv(0x06, Buffer.from(hex, 'hex'));
}

export function tlv(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const commonNameId = objectId('550403');
const countryId = objectId('550406');
