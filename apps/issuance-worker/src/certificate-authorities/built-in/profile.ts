import { encodeTlv } from '@certwright/pki';
import {
  BitString,
  Integer,
  Null,
  ObjectIdentifier,
  PrintableString,
  Sequence,
  Set,
  Utf8String,
} from 'asn1js';
import {
  AlgorithmIdentifier,
  Certificate,
  type Extension,
  PublicKeyInfo,
  RelativeDistinguishedNames,
  Time,
} from 'pkijs';
import {
  arrayBuffer,
  authorityKeyIdentifier,
  basicConstraints,
  caIssuers,
  crlDistributionPoint,
  domainValidated,
  keyUsage,
  keyUsages,
  serverAuthOnly,
  subjectAltName,
  subjectKeyIdentifier,
} from './extensions';
import { oid } from './oids';

/** ub-common-name, RFC 5280, appendix A. */
const maxCommonNameLength = 64;

/** Identifier byte of SEQUENCE. */
const sequenceTag = 0x30;

/** X.509 version 3. */
const version3 = 2;

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
  readonly subject: RelativeDistinguishedNames;
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
  const tail = [signatureAlgorithm().toSchema(), new BitString({ valueHex: arrayBuffer(signature) })];
  return Buffer.from(encodeTlv(sequenceTag, tbsDer, ...tail.map((block) => Buffer.from(block.toBER()))));
}

export function signatureAlgorithm(): AlgorithmIdentifier {
  return new AlgorithmIdentifier({ algorithmId: oid.sha256WithRsaEncryption, algorithmParams: new Null() });
}

/** UTCTime until 2049, then GeneralizedTime (RFC 5280, 4.1.2.5). */
export function time(value: Date): Time {
  return new Time({ type: value.getUTCFullYear() < 2050 ? 0 : 1, value });
}

function tbs(
  content: Content,
  subject: RelativeDistinguishedNames,
  issuer: Certificate | null,
  extensions: Extension[],
): Uint8Array {
  const publicKey = PublicKeyInfo.fromBER(arrayBuffer(content.spki));
  const certificate = new Certificate();
  certificate.version = version3;
  certificate.serialNumber = new Integer({ valueHex: arrayBuffer(content.serialNumber) });
  certificate.signature = signatureAlgorithm();
  certificate.subject = subject;
  certificate.issuer = issuer === null ? certificate.subject : issuer.subject;
  certificate.notBefore = time(content.notBefore);
  certificate.notAfter = time(content.notAfter);
  certificate.subjectPublicKeyInfo = publicKey;
  certificate.extensions = [
    ...extensions,
    subjectKeyIdentifier(publicKey.subjectPublicKey.valueBlock.valueHexView),
    ...(issuer === null ? [] : [authorityKeyIdentifier(issuer)]),
  ];
  const block: Sequence = certificate.encodeTBS();
  return new Uint8Array(block.toBER());
}

function publishedBy({ certificateUrl, crlUrl }: Issuing): Extension[] {
  return [caIssuers(certificateUrl), crlDistributionPoint(crlUrl)];
}

/** The subject of a root or an intermediate. */
export function caSubject(organization: string, commonName: string): RelativeDistinguishedNames {
  return distinguishedName([
    { type: oid.organizationName, value: organization },
    { type: oid.commonName, value: commonName },
  ]);
}

interface Attribute {
  readonly type: string;
  readonly value: string;
}

/** RDNSequence with one attribute per RDN (RFC 5280, 4.1.2.4). pkijs would put all of them into one RDN. */
function distinguishedName(attributes: readonly Attribute[]): RelativeDistinguishedNames {
  const parts = attributes.map(({ type, value }) => {
    // PrintableString if possible, else UTF8String.
    const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value);
    const text = printable ? new PrintableString({ value }) : new Utf8String({ value });
    const pair = new Sequence({ value: [new ObjectIdentifier({ value: type }), text] });
    return new Set({ value: [pair] });
  });
  const name = new RelativeDistinguishedNames();
  name.valueBeforeDecode = new Sequence({ value: parts }).toBER();
  return name;
}
