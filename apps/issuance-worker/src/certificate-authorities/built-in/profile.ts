import {
  derTags,
  encodeInteger,
  encodeObjectIdentifier,
  encodeTime,
  encodeTlv,
  parseDer,
} from '@certwright/pki';
import type { Certificate } from 'pkijs';
import { subjectOf } from './certificate-values';
import {
  authorityKeyIdentifier,
  basicConstraints,
  caIssuers,
  constructed,
  crlDistributionPoint,
  domainValidated,
  keyUsage,
  keyUsages,
  sequence,
  serverAuthOnly,
  subjectAltName,
  subjectKeyIdentifier,
} from './extensions';
import { oid } from './oids';

/** ub-common-name, RFC 5280, appendix A. */
const maxCommonNameLength = 64;

/** X.509 version 3: [0] EXPLICIT INTEGER 2. */
const version3 = encodeTlv(constructed.context(0), encodeInteger(2n));

/** sha256WithRSAEncryption, with NULL (RFC 4055, section 5). */
export const signatureAlgorithm = sequence(
  encodeObjectIdentifier(oid.sha256WithRsaEncryption),
  encodeTlv(derTags.null),
);

export interface Issuing {
  readonly certificate: Certificate;
  /** URLs of that certificate and its revocation list; http, not https (RFC 5280, 8). */
  readonly certificateUrl: string;
  readonly crlUrl: string;
}

interface Content {
  /** Content bytes of a positive, minimal INTEGER. */
  readonly serialNumber: Uint8Array;
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
  readonly notBefore: Date;
  /** The last second of validity (RFC 5280, 4.1.2.5). */
  readonly notAfter: Date;
}

export interface LeafContent extends Content {
  readonly dnsNames: readonly string[];
  readonly keyType: 'rsa' | 'ecdsa';
  readonly subjectCommonName: boolean;
}

export interface CaContent extends Content {
  /** Name, DER. */
  readonly subject: Uint8Array;
}

/**
 * The TBSCertificate (DER) of an end entity: Baseline Requirements 7.1.2.7, domain validated. Names come from the
 * terms, never the CSR.
 */
export function leafTbs(content: LeafContent, issuing: Issuing): Uint8Array {
  const commonName = content.subjectCommonName
    ? content.dnsNames.find((name) => name.length <= maxCommonNameLength)
    : undefined;
  const keyEncipherment = content.keyType === 'rsa' ? keyUsages.keyEncipherment : 0;
  return tbs(
    content,
    distinguishedName(commonName === undefined ? [] : [{ type: oid.commonName, value: commonName }]),
    issuing.certificate,
    [
      keyUsage(keyUsages.digitalSignature | keyEncipherment),
      serverAuthOnly(),
      basicConstraints({ cA: false }),
      subjectAltName(content.dnsNames, commonName === undefined),
      domainValidated(),
      ...publishedBy(issuing),
    ],
  );
}

/** The TBSCertificate (DER) of a self-signed root: Baseline Requirements 7.1.2.1. */
export function rootTbs(content: CaContent): Uint8Array {
  return tbs(content, content.subject, null, [
    keyUsage(keyUsages.keyCertSign | keyUsages.cRLSign),
    basicConstraints({ cA: true }),
  ]);
}

/** The TBSCertificate (DER) of the intermediate that signs leaves: Baseline Requirements 7.1.2.6. */
export function intermediateTbs(content: CaContent, root: Issuing): Uint8Array {
  return tbs(content, content.subject, root.certificate, [
    keyUsage(keyUsages.keyCertSign | keyUsages.cRLSign),
    serverAuthOnly(),
    basicConstraints({ cA: true, pathLenConstraint: 0 }),
    domainValidated(),
    ...publishedBy(root),
  ]);
}

/**
 * Certificate (or CertificateList, or CertificationRequest) ::= SEQUENCE { tbs, signatureAlgorithm, signatureValue }, around
 * the signed bytes.
 */
export function assemble(tbsDer: Uint8Array, signature: Uint8Array): Buffer {
  const bits = encodeTlv(derTags.bitString, noUnusedBits, signature);
  return Buffer.from(sequence(tbsDer, signatureAlgorithm, bits));
}

/** The first content byte of a BIT STRING. */
const noUnusedBits = Uint8Array.of(0);

function tbs(
  content: Content,
  subject: Uint8Array,
  issuer: Certificate | null,
  extensions: readonly Uint8Array[],
): Uint8Array {
  const all = [
    ...extensions,
    subjectKeyIdentifier(publicKeyBits(content.spki)),
    ...(issuer === null ? [] : [authorityKeyIdentifier(issuer)]),
  ];
  return sequence(
    version3,
    encodeTlv(derTags.integer, content.serialNumber),
    signatureAlgorithm,
    issuer === null ? subject : subjectOf(issuer),
    sequence(encodeTime(content.notBefore), encodeTime(content.notAfter)),
    subject,
    content.spki,
    encodeTlv(constructed.context(3), sequence(...all)),
  );
}

/** SubjectPublicKeyInfo ::= SEQUENCE { algorithm, subjectPublicKey BIT STRING }. */
function publicKeyBits(spki: Uint8Array): Uint8Array {
  const [, bits] = parseDer(spki).children;
  if (bits === undefined) throw new Error('a SubjectPublicKeyInfo has two elements');
  return bits.content.subarray(noUnusedBits.length);
}

function publishedBy({ certificateUrl, crlUrl }: Issuing): readonly Uint8Array[] {
  return [caIssuers(certificateUrl), crlDistributionPoint(crlUrl)];
}

/**
 * The subject of a root or an intermediate: Name, DER. The common name is the organization, as far as it fits, and `what`.
 */
export function caSubject(organization: string, what: string): Uint8Array {
  const fitting = [...organization].slice(0, maxCommonNameLength - 1 - what.length).join('');
  return distinguishedName([
    { type: oid.organizationName, value: organization },
    { type: oid.commonName, value: `${fitting.trimEnd()} ${what}` },
  ]);
}

interface Attribute {
  readonly type: string;
  readonly value: string;
}

/** RDNSequence with one attribute per RDN (RFC 5280, 4.1.2.4). */
function distinguishedName(attributes: readonly Attribute[]): Uint8Array {
  const parts = attributes.map(({ type, value }) => {
    // PrintableString if possible, else UTF8String.
    const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value);
    const text = encodeTlv(printable ? derTags.printableString : derTags.utf8String, Buffer.from(value));
    return encodeTlv(constructed.set, sequence(encodeObjectIdentifier(type), text));
  });
  return sequence(...parts);
}
