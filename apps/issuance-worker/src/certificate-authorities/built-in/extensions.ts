import { createHash } from 'node:crypto';
import { derTags, encodeInteger, encodeObjectIdentifier, encodeTlv } from '@certwright/pki';
import type { Certificate } from 'pkijs';
import { oid } from './oids';

/** Identifier bytes of what contains other elements. */
export const constructed = {
  sequence: 0x20 | derTags.sequence,
  set: 0x20 | derTags.set,
  /** `[number] EXPLICIT` */
  context: (number: number) => 0xa0 | number,
} as const;

/** Identifier byte of `[number] IMPLICIT` around a primitive type. */
const implicit = (number: number) => 0x80 | number;

/** KeyUsage, RFC 5280, 4.2.1.3: bit 0 is the most significant one. */
export const keyUsages = {
  digitalSignature: 0x80,
  keyEncipherment: 0x20,
  keyCertSign: 0x04,
  cRLSign: 0x02,
} as const;

/** Choices of GeneralName, RFC 5280, 4.2.1.6. */
const generalNameType = { dnsName: 2, uri: 6 } as const;

/** Object identifiers in DER. What the functions below return is an Extension in DER. */
const oidDer = Object.fromEntries(
  Object.entries(oid).map(([name, dotted]) => [name, encodeObjectIdentifier(dotted)]),
) as Record<keyof typeof oid, Uint8Array>;

export const sequence = (...elements: readonly Uint8Array[]) => encodeTlv(constructed.sequence, ...elements);

const isTrue = encodeTlv(derTags.boolean, Uint8Array.of(0xff));

export function keyUsage(bits: number): Uint8Array {
  // DER of a named bit list drops trailing zero bits (X.690, 11.2.2).
  const unusedBits = Math.clz32(bits & -bits) === 32 ? 7 : 31 - Math.clz32(bits & -bits);
  return extension('keyUsage', true, encodeTlv(derTags.bitString, Uint8Array.of(unusedBits, bits)));
}

export function serverAuthOnly(): Uint8Array {
  return extension('extKeyUsage', false, sequence(oidDer.serverAuth));
}

export function basicConstraints({
  cA,
  pathLenConstraint,
}: {
  cA: boolean;
  pathLenConstraint?: number;
}): Uint8Array {
  const maxLength = pathLenConstraint === undefined ? [] : [encodeInteger(BigInt(pathLenConstraint))];
  return extension('basicConstraints', true, sequence(...(cA ? [isTrue] : []), ...maxLength));
}

/** Critical when the subject is empty: RFC 5280, 4.2.1.6. */
export function subjectAltName(dnsNames: readonly string[], critical: boolean): Uint8Array {
  const names = dnsNames.map((name) => generalName('dnsName', name));
  return extension('subjectAltName', critical, sequence(...names));
}

/** The leftmost 160 bits of a SHA-256 over the subjectPublicKey bits: RFC 7093, method 1. */
export function subjectKeyIdentifier(subjectPublicKey: Uint8Array): Uint8Array {
  const identifier = createHash('sha256').update(subjectPublicKey).digest().subarray(0, 20);
  return extension('subjectKeyIdentifier', false, encodeTlv(derTags.octetString, identifier));
}

/** keyIdentifier only (RFC 5280, 4.2.1.1): the subject key identifier of the issuer. */
export function authorityKeyIdentifier(issuing: Certificate): Uint8Array {
  const value = sequence(encodeTlv(implicit(0), subjectKeyIdOf(issuing)));
  return extension('authorityKeyIdentifier', false, value);
}

export function subjectKeyIdOf(certificate: Certificate): Buffer {
  const found = certificate.extensions?.find(({ extnID }) => extnID === oid.subjectKeyIdentifier);
  if (found === undefined) throw new Error('the issuing certificate has no subject key identifier');
  // The extension's value is itself an OCTET STRING: two bytes of tag and length, then the identifier.
  return Buffer.from(found.extnValue.valueBlock.valueHexView.subarray(2));
}

export function caIssuers(url: string): Uint8Array {
  const description = sequence(oidDer.caIssuers, generalName('uri', url));
  return extension('authorityInfoAccess', false, sequence(description));
}

export function crlDistributionPoint(url: string): Uint8Array {
  const fullName = encodeTlv(constructed.context(0), generalName('uri', url));
  const point = sequence(encodeTlv(constructed.context(0), fullName));
  return extension('crlDistributionPoints', false, sequence(point));
}

/** Baseline Requirements 7.1.6.1. */
export function domainValidated(): Uint8Array {
  return extension('certificatePolicies', false, sequence(sequence(oidDer.domainValidated)));
}

export function crlNumber(number: bigint): Uint8Array {
  return extension('crlNumber', false, encodeInteger(number));
}

export function reasonCode(reason: number): Uint8Array {
  return extension('reasonCode', false, encodeTlv(derTags.enumerated, Uint8Array.of(reason)));
}

/** pkijs takes ArrayBuffers; a Node Buffer is often a view on a larger one. */
export function arrayBuffer(view: Uint8Array): ArrayBuffer {
  return Uint8Array.from(view).buffer;
}

function generalName(type: keyof typeof generalNameType, value: string): Uint8Array {
  return encodeTlv(implicit(generalNameType[type]), Buffer.from(value, 'latin1'));
}

function extension(name: keyof typeof oid, critical: boolean, value: Uint8Array): Uint8Array {
  return sequence(oidDer[name], ...(critical ? [isTrue] : []), encodeTlv(derTags.octetString, value));
}
