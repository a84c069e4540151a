import { createHash } from 'node:crypto';
import { certificationRequest, type KeyPair, objectId, sequence, spkiOf, tlv } from '@certwright/testing';

export { type KeyPair, keyPair } from '@certwright/testing';

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
    ...[subject.C ?? 'GB'].flat().map((value) => attribute('550406', countryTag, value)),
    ...[subject.CN ?? []].flat().map((value) => attribute('550403', 0x0c, value)),
  ];
  const der = certificationRequest(keys, sequence(...attributes));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

function attribute(type: string, tag: number, value: string): Buffer {
  return tlv(0x31, sequence(objectId(type), tlv(tag, Buffer.from(value))));
}
