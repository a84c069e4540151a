import { type DerElement, parseDer } from '../der/der-element';
import { DerError } from '../der/der-error';
import { tags } from '../der/der-primitives';
import { DerReader, explicitContent } from '../der/der-reader';
import {
  booleanValue,
  integerValue,
  objectIdentifierValue,
  bitStringBytes,
  octetStringValue,
  timeValue,
} from '../der/der-values';
import { type DistinguishedName, readDistinguishedName } from '../distinguished-name';
import {
  extensionIds,
  type Extensions,
  readExtensions,
  readSubjectAlternativeNames,
  type SubjectAlternativeNames,
} from '../extensions';
import { sha1Hex, sha256Hex } from '../fingerprints';
import { type KeyType, keyTypeOf, readSubjectPublicKey } from '../keys/subject-public-key';
import { readSignatureAlgorithm, type SignatureAlgorithm } from '../signature';

/** Digests and identifiers are lower-case hexadecimal. */
export interface Certificate {
  readonly der: Uint8Array;
  /** The signed TBSCertificate. */
  readonly tbsDer: Uint8Array;
  /** Hex of whole bytes; a negative one, which RFC 5280 forbids but old roots have, starts with `-`. */
  readonly serialNumber: string;
  readonly issuer: DistinguishedName;
  readonly subject: DistinguishedName;
  readonly subjectCommonName: string | undefined;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** As written; empty without the extension. */
  readonly dnsNames: readonly string[];
  /** Names of the types of subject alternative names that are not DNS names. */
  readonly otherNameKinds: readonly string[];
  readonly spkiDer: Uint8Array;
  /** SHA-256 over the DER SubjectPublicKeyInfo. */
  readonly spkiSha256: string;
  readonly keyType: KeyType | undefined;
  /** SHA-256 over the DER certificate. */
  readonly sha256: string;
  /** SHA-1 over the DER certificate. */
  readonly sha1: string;
  readonly authorityKeyId: string | undefined;
  readonly subjectKeyId: string | undefined;
  /** OBJECT IDENTIFIERs in dotted form; undefined without the extension, which allows every use. */
  readonly extendedKeyUsages: readonly string[] | undefined;
  readonly isCa: boolean;
  /** It has the poison of RFC 6962, section 3.1, so that no client accepts it. */
  readonly isPrecertificate: boolean;
  readonly signatureAlgorithm: SignatureAlgorithm;
  readonly signature: Uint8Array;
}

/** `detail`: the message of the DER reader, which names structures and rules. */
export type CertificateReading =
  { readonly ok: true; readonly certificate: Certificate } | { readonly ok: false; readonly detail: string };

/** Reads a Certificate (RFC 5280, section 4.1) in strict DER. Nothing is verified. */
export function readCertificate(der: Uint8Array): CertificateReading {
  try {
    return { ok: true, certificate: readSignedCertificate(der) };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { ok: false, detail: error.message };
  }
}

function readSignedCertificate(der: Uint8Array): Certificate {
  const outer = DerReader.sequence(parseDer(der), 'Certificate');
  const tbsElement = outer.next('TBSCertificate');
  const algorithmElement = outer.next('signature algorithm');
  const signature = bitStringBytes(outer.next('signature'), 'the signature');
  outer.end();
  return {
    der,
    tbsDer: tbsElement.raw,
    ...readTbsCertificate(tbsElement, algorithmElement),
    sha256: sha256Hex(der),
    sha1: sha1Hex(der),
    signatureAlgorithm: readSignatureAlgorithm(algorithmElement),
    signature,
  };
}

function readTbsCertificate(element: DerElement, outerAlgorithm: DerElement) {
  const tbs = DerReader.sequence(element, 'TBSCertificate');
  const hasExtensions = readVersion(tbs);
  const serialNumber = serialHex(integerValue(tbs.next('serial number'), 'the serial number'));
  const algorithm = tbs.next('signature algorithm');
  // RFC 5280, section 4.1.1.2: the algorithm outside the signature is the one inside.
  if (Buffer.compare(algorithm.raw, outerAlgorithm.raw) !== 0) {
    throw new DerError('a signature algorithm that differs inside and outside', algorithm.offset);
  }
  const issuer = readDistinguishedName(tbs.next('issuer'), 'the issuer');
  const validity = tbs.nextSequence('validity');
  const notBefore = timeValue(validity.next('notBefore'), 'notBefore');
  const notAfter = timeValue(validity.next('notAfter'), 'notAfter');
  validity.end();
  const subject = readDistinguishedName(tbs.next('subject'), 'the subject');
  const { key, spkiDer, spkiSha256 } = readSubjectPublicKey(tbs.next('public key'));
  const extensionsElement = hasExtensions ? tbs.optionalContext(3) : undefined;
  tbs.end();
  const extensions =
    extensionsElement === undefined
      ? new Map()
      : readExtensions(explicitContent(extensionsElement, 'the extensions'));
  const names: SubjectAlternativeNames | null = readSubjectAlternativeNames(extensions);
  return {
    serialNumber,
    issuer,
    subject,
    subjectCommonName: subject.commonNames[0],
    notBefore,
    notAfter,
    dnsNames: names?.dnsNames ?? [],
    otherNameKinds: names?.otherKinds ?? [],
    spkiDer,
    spkiSha256,
    keyType: keyTypeOf(key),
    ...readKnownExtensions(extensions),
  };
}

/** Version 3 has extensions; version 1, of old roots, is the default and so never written. */
function readVersion(tbs: DerReader): boolean {
  const element = tbs.optionalContext(0);
  if (element === undefined) return false;
  if (integerValue(explicitContent(element, 'the version'), 'the version') !== 2n) {
    throw new DerError('a version other than 3', element.offset);
  }
  return true;
}

function readKnownExtensions(extensions: Extensions) {
  const parsed = (id: string): DerElement | undefined => {
    const value = extensions.get(id);
    return value === undefined ? undefined : parseDer(value);
  };
  const authorityKey = parsed(extensionIds.authorityKeyIdentifier);
  const subjectKey = parsed(extensionIds.subjectKeyIdentifier);
  const constraints = parsed(extensionIds.basicConstraints);
  const usages = parsed(extensionIds.extendedKeyUsage);
  return {
    authorityKeyId: authorityKey === undefined ? undefined : readKeyIdentifier(authorityKey),
    subjectKeyId:
      subjectKey === undefined ? undefined : hex(octetStringValue(subjectKey, 'the subject key identifier')),
    isCa: constraints === undefined ? false : readIsCa(constraints),
    isPrecertificate: extensions.has(extensionIds.precertificatePoison),
    extendedKeyUsages: usages === undefined ? undefined : readUsages(usages),
  };
}

/** The keyIdentifier of an AuthorityKeyIdentifier (RFC 5280, section 4.2.1.1); its other members are ignored. */
function readKeyIdentifier(element: DerElement): string | undefined {
  const identifier = DerReader.sequence(element, 'AuthorityKeyIdentifier').optionalContext(0);
  return identifier === undefined ? undefined : hex(identifier.content);
}

/** `cA BOOLEAN DEFAULT FALSE`. Certificates often encode the default explicitly, which means the same. */
function readIsCa(element: DerElement): boolean {
  const ca = DerReader.sequence(element, 'BasicConstraints').optionalUniversal(tags.boolean);
  return ca === undefined ? false : booleanValue(ca, 'cA');
}

function readUsages(element: DerElement): readonly string[] {
  const usages = DerReader.sequence(element, 'ExtKeyUsageSyntax').rest(1, 'usage');
  return usages.map((usage) => objectIdentifierValue(usage, 'an extended key usage'));
}

function serialHex(serial: bigint): string {
  const digits = (serial < 0n ? -serial : serial).toString(16);
  return `${serial < 0n ? '-' : ''}${digits.length % 2 === 0 ? '' : '0'}${digits}`;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
