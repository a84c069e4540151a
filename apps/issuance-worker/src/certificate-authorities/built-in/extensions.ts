import { createHash } from 'node:crypto';
import { BitString, Enumerated, Integer, OctetString } from 'asn1js';
import {
  AccessDescription,
  AuthorityKeyIdentifier,
  BasicConstraints,
  type Certificate,
  CertificatePolicies,
  CRLDistributionPoints,
  DistributionPoint,
  Extension,
  ExtKeyUsage,
  GeneralName,
  GeneralNames,
  InfoAccess,
  PolicyInformation,
} from 'pkijs';
import { oid } from './oids';

/** KeyUsage, RFC 5280, 4.2.1.3: bit 0 is the most significant one. */
export const keyUsages = {
  digitalSignature: 0x80,
  keyEncipherment: 0x20,
  keyCertSign: 0x04,
  cRLSign: 0x02,
} as const;

/** Choices of GeneralName, RFC 5280, 4.2.1.6. */
const generalNameType = { dnsName: 2, uri: 6 } as const;

export function keyUsage(bits: number): Extension {
  // DER of a named bit list drops trailing zero bits (X.690, 11.2.2).
  const unusedBits = Math.clz32(bits & -bits) === 32 ? 7 : 31 - Math.clz32(bits & -bits);
  const value = new BitString({ valueHex: Uint8Array.of(bits).buffer, unusedBits });
  return extension(oid.keyUsage, true, value.toBER());
}

export function serverAuthOnly(): Extension {
  const usage = new ExtKeyUsage({ keyPurposes: [oid.serverAuth] });
  return extension(oid.extKeyUsage, false, usage.toSchema().toBER());
}

export function basicConstraints(constraints: { cA: boolean; pathLenConstraint?: number }): Extension {
  return extension(oid.basicConstraints, true, new BasicConstraints(constraints).toSchema().toBER());
}

/** Critical when the subject is empty: RFC 5280, 4.2.1.6. */
export function subjectAltName(dnsNames: readonly string[], critical: boolean): Extension {
  const names = dnsNames.map((value) => new GeneralName({ type: generalNameType.dnsName, value }));
  return extension(oid.subjectAltName, critical, new GeneralNames({ names }).toSchema().toBER());
}

/** The leftmost 160 bits of a SHA-256 over the subjectPublicKey bits: RFC 7093, method 1. */
export function subjectKeyIdentifier(subjectPublicKey: Uint8Array): Extension {
  const identifier = createHash('sha256').update(subjectPublicKey).digest().subarray(0, 20);
  return extension(
    oid.subjectKeyIdentifier,
    false,
    new OctetString({ valueHex: arrayBuffer(identifier) }).toBER(),
  );
}

/** keyIdentifier only (RFC 5280, 4.2.1.1): the subject key identifier of the issuer. */
export function authorityKeyIdentifier(issuing: Certificate): Extension {
  const found = issuing.extensions?.find(({ extnID }) => extnID === oid.subjectKeyIdentifier);
  if (found === undefined) throw new Error('the issuing certificate has no subject key identifier');
  // The extension's value is itself an OCTET STRING: two bytes of tag and length, then the identifier.
  const identifier = found.extnValue.valueBlock.valueHexView.subarray(2);
  const value = new AuthorityKeyIdentifier({
    keyIdentifier: new OctetString({ valueHex: arrayBuffer(identifier) }),
  });
  return extension(oid.authorityKeyIdentifier, false, value.toSchema().toBER());
}

export function caIssuers(url: string): Extension {
  const accessLocation = new GeneralName({ type: generalNameType.uri, value: url });
  const description = new AccessDescription({ accessMethod: oid.caIssuers, accessLocation });
  const access = new InfoAccess({ accessDescriptions: [description] });
  return extension(oid.authorityInfoAccess, false, access.toSchema().toBER());
}

export function crlDistributionPoint(url: string): Extension {
  const point = new DistributionPoint({
    distributionPoint: [new GeneralName({ type: generalNameType.uri, value: url })],
  });
  const points = new CRLDistributionPoints({ distributionPoints: [point] });
  return extension(oid.crlDistributionPoints, false, points.toSchema().toBER());
}

/** Baseline Requirements 7.1.6.1. */
export function domainValidated(): Extension {
  const policy = new PolicyInformation({ policyIdentifier: oid.domainValidated });
  const policies = new CertificatePolicies({ certificatePolicies: [policy] });
  return extension(oid.certificatePolicies, false, policies.toSchema().toBER());
}

export function crlNumber(number: bigint): Extension {
  return extension(oid.crlNumber, false, Integer.fromBigInt(number).toBER());
}

export function reasonCode(reason: number): Extension {
  return extension(oid.reasonCode, false, new Enumerated({ value: reason }).toBER());
}

/** pkijs takes ArrayBuffers; a Node Buffer is often a view on a larger one. */
export function arrayBuffer(view: Uint8Array): ArrayBuffer {
  return Uint8Array.from(view).buffer;
}

function extension(extnID: string, critical: boolean, extnValue: ArrayBuffer): Extension {
  return new Extension({ extnID, critical, extnValue });
}
