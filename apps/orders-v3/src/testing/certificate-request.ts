import {
  certificationRequest,
  type KeyPair,
  objectId,
  requestedNames,
  sequence,
  tlv,
} from '@certwright/testing';

export { type KeyPair, keyPair } from '@certwright/testing';

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
      : sequence(tlv(0x31, sequence(objectId('550403'), tlv(0x0c, Buffer.from(commonName)))));
  const attributes = dnsNames === undefined ? [] : [requestedNames(dnsNames)];
  return certificationRequest(keys, subject, ...attributes).toString('base64');
}
