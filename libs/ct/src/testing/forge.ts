/** Encodes DER, and deliberately also invalid DER: nothing is checked here. */
export function tlv(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const digits = body.length.toString(16);
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body]);
}

/** X.690, section 8.1.3.6: the indefinite length, and two zero bytes at the end. */
export function endless(tag: number, ...content: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from([tag, 0x80]), ...content, Buffer.from([0, 0])]);
}

export const seq = (...parts: readonly Uint8Array[]) => tlv(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]) => tlv(0x31, ...parts);
export const octetString = (...parts: readonly Uint8Array[]) => tlv(0x04, ...parts);
export const hex = (digits: string) => Buffer.from(digits, 'hex');
export const int = (digits: string) => tlv(0x02, hex(digits));
export const text = (tag: number, value: string, encoding: BufferEncoding = 'latin1') =>
  tlv(tag, Buffer.from(value, encoding));
export const utcTime = (value: string) => text(0x17, value);
export const generalizedTime = (value: string) => text(0x18, value);
export const dns = (value: string | Uint8Array) =>
  tlv(0x82, typeof value === 'string' ? Buffer.from(value, 'latin1') : value);

export const ids = {
  commonName: hex('550403'),
  organization: hex('55040a'),
  subjectAlternativeName: hex('551d11'),
  authorityKeyIdentifier: hex('551d23'),
  keyUsage: hex('551d0f'),
  poison: hex('2b06010401d679020403'),
  sctList: hex('2b06010401d679020402'),
} as const;

export const extension = (id: Uint8Array, value: Uint8Array) => seq(tlv(0x06, id), octetString(value));
const criticalExtension = (id: Uint8Array, value: Uint8Array) =>
  seq(tlv(0x06, id), tlv(0x01, hex('ff')), octetString(value));
export const alternativeNames = (...names: readonly Uint8Array[]) =>
  extension(ids.subjectAlternativeName, seq(...names));
export const keyUsage = criticalExtension(ids.keyUsage, hex('030205a0'));
export const poison = criticalExtension(ids.poison, hex('0500'));
export const sctList = extension(ids.sctList, octetString(Buffer.alloc(121, 0x5c)));
export const keyId = (digits: string) => extension(ids.authorityKeyIdentifier, seq(tlv(0x80, hex(digits))));

export const attribute = (id: Uint8Array, value: Uint8Array) => set(seq(tlv(0x06, id), value));
export const commonName = (value: string) => attribute(ids.commonName, text(0x0c, value, 'utf8'));

const sha256WithRsa = seq(tlv(0x06, hex('2a864886f70d01010b')), tlv(0x05));
export const spki = seq(
  seq(tlv(0x06, hex('2a8648ce3d0201')), tlv(0x06, hex('2a8648ce3d030107'))),
  tlv(0x03, hex('00'), Buffer.alloc(65, 4)),
);

/** The parts of a TBSCertificate in order; null omits one. */
export interface TbsParts {
  readonly version?: Uint8Array | null;
  readonly serial?: Uint8Array | null;
  readonly issuer?: Uint8Array;
  readonly validity?: Uint8Array;
  readonly subject?: Uint8Array | null;
  readonly spki?: Uint8Array | null;
  readonly extensions?: readonly Uint8Array[] | null;
  /** Instead of the [3]. */
  readonly wrapper?: Uint8Array;
  readonly tail?: Uint8Array;
}

const nothing = Buffer.alloc(0);

export function tbsParts(parts: TbsParts): Buffer[] {
  const { extensions = [alternativeNames(dns('example.com'))] } = parts;
  const given = (part: Uint8Array | null | undefined, usual: Uint8Array) =>
    Buffer.from(part === undefined ? usual : (part ?? nothing));
  return [
    given(parts.version, tlv(0xa0, int('02'))),
    given(parts.serial, int('1234')),
    sha256WithRsa,
    given(parts.issuer, seq(commonName('Issuer'))),
    given(parts.validity, seq(utcTime('260101000000Z'), utcTime('261231000000Z'))),
    given(parts.subject, seq()),
    given(parts.spki, spki),
    given(parts.wrapper, extensions === null ? nothing : tlv(0xa3, seq(...extensions))),
    given(parts.tail, nothing),
  ];
}

export const forgeTbs = (parts: TbsParts = {}) => seq(...tbsParts(parts));

/** With an invalid signature: it is never verified. */
export const signed = (tbs: Uint8Array) =>
  seq(tbs, sha256WithRsa, tlv(0x03, hex('00'), Buffer.alloc(64, 0x77)));

export const forgeCertificate = (parts: TbsParts = {}) => signed(forgeTbs(parts));
