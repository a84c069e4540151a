import { sign } from 'node:crypto';
import { algorithms, commonName, dns, type KeyPair, spkiOf, subjectAltName } from './csr-forge';
import { bits, bool, fromHex, int, octetString, oid, seq, tlv } from './der-forge';

/** Deviations of a forged certificate; everything else is a correct server certificate for example.com. */
export interface CertificateParts {
  readonly version?: Uint8Array | null;
  readonly serial?: Uint8Array;
  readonly subject?: Uint8Array;
  readonly issuer?: Uint8Array;
  readonly notBefore?: Uint8Array;
  readonly notAfter?: Uint8Array;
  readonly extensions?: readonly Uint8Array[] | null;
  readonly innerAlgorithm?: Uint8Array;
  readonly outerAlgorithm?: Uint8Array;
  readonly hash?: string;
}

export const utcTime = (text: string) => tlv(0x17, Buffer.from(text));
export const names = (...values: readonly string[]) => subjectAltName(...values.map(dns));
export const serverAuth = seq(oid('2.5.29.37'), octetString(seq(oid('1.3.6.1.5.5.7.3.1'))));
export const clientAuth = seq(oid('2.5.29.37'), octetString(seq(oid('1.3.6.1.5.5.7.3.2'))));
export const isCa = seq(oid('2.5.29.19'), bool(0xff), octetString(seq(bool(0xff))));
export const isNoCa = seq(oid('2.5.29.19'), octetString(seq()));
export const subjectKeyId = (hex: string) => seq(oid('2.5.29.14'), octetString(octetString(fromHex(hex))));
export const authorityKeyId = (hex: string) =>
  seq(oid('2.5.29.35'), octetString(seq(tlv(0x80, fromHex(hex)))));

/** Signed with ECDSA by `issuer`, valid from 2026-01-01 to 2026-12-31. */
export function forgeCertificate(subject: KeyPair, issuer: KeyPair, parts: CertificateParts = {}): Buffer {
  const inner = parts.innerAlgorithm ?? algorithms.ecdsaWithSha256;
  const version = parts.version === undefined ? tlv(0xa0, int(2)) : parts.version;
  const extensions =
    parts.extensions === undefined ? [names('example.com'), serverAuth, isNoCa] : parts.extensions;
  const tbs = seq(
    ...(version === null ? [] : [version]),
    parts.serial ?? int(0x1234n),
    inner,
    parts.issuer ?? seq(commonName('Issuer')),
    seq(parts.notBefore ?? utcTime('260101000000Z'), parts.notAfter ?? utcTime('261231000000Z')),
    parts.subject ?? seq(commonName('example.com')),
    spkiOf(subject.publicKey),
    ...(extensions === null ? [] : [tlv(0xa3, seq(...extensions))]),
  );
  return Buffer.from(
    seq(tbs, parts.outerAlgorithm ?? inner, bits(sign(parts.hash ?? 'sha256', tbs, issuer.privateKey))),
  );
}
