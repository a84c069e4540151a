import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { isIPv4 } from 'node:net';

/**
 * A private CA and its certificates: ECDSA on P-256, with DER written by hand, because a development machine may lack OpenSSL
 * and these six extensions are sufficient (RFC 5280, section 4.2).
 */
export interface CertificateContent {
  readonly commonName: string;
  /** Null: the CA itself. */
  readonly names: readonly SubjectName[] | null;
  readonly days: number;
}

export type SubjectName =
  | { readonly kind: 'dns'; readonly name: string }
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'uri'; readonly uri: string };

export interface KeyAndCertificate {
  readonly key: KeyObject;
  /** PEM. */
  readonly certificate: string;
  readonly commonName: string;
}

const dayMs = 24 * 60 * 60 * 1_000;
/** Peers whose clocks are slow accept a new certificate. */
const backdatingMs = 60 * 60 * 1_000;

export function freshKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

export function keyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}

/** @param issuer null: signed by its own key */
export function certify(
  content: CertificateContent,
  key: KeyObject,
  issuer: Pick<KeyAndCertificate, 'key' | 'commonName'> | null,
  now: Date,
): KeyAndCertificate {
  const signer = issuer?.key ?? key;
  const notBefore = new Date(now.getTime() - backdatingMs);
  const notAfter = new Date(notBefore.getTime() + content.days * dayMs);
  const tbs = sequence(
    tlv(0xa0, integer(Buffer.from([2]))),
    integer(positive(randomBytes(16))),
    ecdsaWithSha256,
    name(issuer?.commonName ?? content.commonName),
    sequence(time(notBefore), time(notAfter)),
    name(content.commonName),
    spkiOf(key),
    tlv(0xa3, sequence(...extensions(content, key, signer))),
  );
  const der = sequence(tbs, ecdsaWithSha256, bitString(sign('sha256', tbs, signer)));
  const lines = der.toString('base64').replace(/.{64}(?!$)/g, '$&\n');
  const certificate = `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
  return { key, certificate, commonName: content.commonName };
}

export function keyFromPem(pem: string): KeyObject {
  return createPrivateKey(pem);
}

function extensions({ names }: CertificateContent, key: KeyObject, signer: KeyObject): Buffer[] {
  const common = [
    extension('551d0e', false, tlv(0x04, keyIdentifier(key))),
    extension('551d23', false, sequence(tlv(0x80, keyIdentifier(signer)))),
  ];
  if (names === null) {
    // basicConstraints: CA, pathLenConstraint 0; keyUsage: keyCertSign and cRLSign.
    return [
      extension('551d13', true, sequence(tlv(0x01, Buffer.from([0xff])), integer(Buffer.from([0])))),
      extension('551d0f', true, tlv(0x03, Buffer.from([0x01, 0x06]))),
      ...common,
    ];
  }
  return [
    extension('551d13', true, sequence()),
    extension('551d0f', true, tlv(0x03, Buffer.from([0x07, 0x80]))),
    // serverAuth for certificates with a host name, clientAuth for those with a URI.
    extension('551d25', false, sequence(objectIdentifier(names.some(isUri) ? clientAuth : serverAuth))),
    extension('551d11', false, sequence(...names.map(generalName))),
    ...common,
  ];
}

const isUri = ({ kind }: SubjectName): boolean => kind === 'uri';
/** 1.3.6.1.5.5.7.3.1 and .2 */
const serverAuth = '2b06010505070301';
const clientAuth = '2b06010505070302';

/** GeneralName, RFC 5280, section 4.2.1.6: context tags 2 (DNS), 6 (URI), 7 (address). */
function generalName(subject: SubjectName): Buffer {
  switch (subject.kind) {
    case 'dns':
      return tlv(0x82, Buffer.from(subject.name, 'latin1'));
    case 'uri':
      return tlv(0x86, Buffer.from(subject.uri, 'latin1'));
    case 'address':
      return tlv(0x87, addressBytes(subject.address));
  }
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => parseInt(group, 16)));
  const before = groups(head);
  const after = groups(tail);
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

function spkiOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' });
}

/** The leftmost 160 bits of the SHA-256 over the whole SubjectPublicKeyInfo (RFC 7093, method 4). */
function keyIdentifier(key: KeyObject): Buffer {
  return createHash('sha256').update(spkiOf(key)).digest().subarray(0, 20);
}

function name(commonName: string): Buffer {
  const attribute = sequence(objectIdentifier('550403'), tlv(0x0c, Buffer.from(commonName)));
  return sequence(tlv(0x31, attribute));
}

/** GeneralizedTime from 2050 on, UTCTime before (RFC 5280, section 4.1.2.5). */
function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, '');
  return date.getUTCFullYear() < 2050
    ? tlv(0x17, Buffer.from(digits.slice(2)))
    : tlv(0x18, Buffer.from(digits));
}

function extension(oidHex: string, critical: boolean, value: Buffer): Buffer {
  const flag = critical ? [tlv(0x01, Buffer.from([0xff]))] : [];
  return sequence(objectIdentifier(oidHex), ...flag, tlv(0x04, value));
}

/** 1.2.840.10045.4.3.2 */
const ecdsaWithSha256 = sequence(objectIdentifier('2a8648ce3d040302'));

function positive(bytes: Buffer): Buffer {
  bytes.writeUInt8((bytes.readUInt8(0) & 0x3f) | 0x40, 0);
  return bytes;
}

function integer(bytes: Buffer): Buffer {
  return tlv(0x02, bytes);
}

function objectIdentifier(hex: string): Buffer {
  return tlv(0x06, Buffer.from(hex, 'hex'));
}

function bitString(bytes: Buffer): Buffer {
  return tlv(0x03, Buffer.concat([Buffer.from([0]), bytes]));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts));
}

function tlv(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const lengthBytes =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content]);
}
