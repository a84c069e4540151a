import type { DerElement, DerLimits } from '../der/der-element';
import { parseDer } from '../der/der-element';
import { DerError } from '../der/der-error';
import { DerReader } from '../der/der-reader';
import { expectUniversal, integerValue, objectIdentifierValue, bitStringBytes } from '../der/der-values';
import { tags } from '../der/der-primitives';
import { readDistinguishedName } from '../distinguished-name';
import { readExtensions, readSubjectAlternativeNames, type SubjectAlternativeNames } from '../extensions';
import { type KeyType, keyTypeOf, type PublicKey, readSubjectPublicKey } from '../keys/subject-public-key';
import type { CsrFault } from './csr-fault';
import { readSignatureAlgorithm, type SignatureAlgorithm } from '../signature';

/** A parsed PKCS #10 request; nothing in it is verified yet, not even its signature. */
export interface Csr {
  readonly der: Uint8Array;
  /** The signed CertificationRequestInfo. */
  readonly infoDer: Uint8Array;
  readonly commonNames: readonly string[];
  readonly countries: readonly string[];
  /** Null when the request has no such extension. */
  readonly subjectAlternativeNames: SubjectAlternativeNames | null;
  readonly key: PublicKey;
  /** Undefined when the key is neither RSA nor ECDSA. */
  readonly keyType: KeyType | undefined;
  /** DER of the SubjectPublicKeyInfo. */
  readonly spkiDer: Uint8Array;
  /** SHA-256 over `spkiDer`, lower-case hexadecimal. */
  readonly spkiSha256: string;
  readonly signatureAlgorithm: SignatureAlgorithm;
  readonly signature: Uint8Array;
}

export type CsrReading =
  { readonly ok: true; readonly csr: Csr } | { readonly ok: false; readonly faults: readonly CsrFault[] };

/** A request with a hundred long names has some 150 elements; a multiple of that is not a real request. */
export const csrLimits: DerLimits = { maxBytes: 64 * 1024, maxDepth: 16, maxElements: 2048 };

/** PKCS #9 (RFC 2985, section 5.4.2). */
const extensionRequest = '1.2.840.113549.1.9.14';

/**
 * Reads a CertificationRequest (RFC 2986, section 4) in DER. Checks only the structure, so that the caller can look
 * up `spkiSha256` before the request is checked.
 */
export function readCsr(der: Uint8Array): CsrReading {
  try {
    return { ok: true, csr: readRequest(der) };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { ok: false, faults: [{ code: 'malformed_csr', fault: 'not_der', detail: error.message }] };
  }
}

function readRequest(der: Uint8Array): Csr {
  const request = DerReader.sequence(parseDer(der, csrLimits), 'CertificationRequest');
  const infoElement = request.next('CertificationRequestInfo');
  const signatureAlgorithm = readSignatureAlgorithm(request.next('signature algorithm'), true);
  const signature = bitStringBytes(request.next('signature'), 'the signature');
  request.end();

  const info = DerReader.sequence(infoElement, 'CertificationRequestInfo');
  const version = info.next('version');
  if (integerValue(version, 'the version') !== 0n)
    throw new DerError('a version other than 0', version.offset);
  const subject = readDistinguishedName(info.next('subject'), 'the subject');
  const { key, spkiDer, spkiSha256 } = readSubjectPublicKey(info.next('public key'));
  // Not optional in RFC 2986, but some software omits an empty set of attributes.
  const attributes = info.optionalContext(0);
  info.end();

  return {
    der,
    infoDer: infoElement.raw,
    commonNames: subject.commonNames,
    countries: subject.countries,
    subjectAlternativeNames: attributes === undefined ? null : readRequestedNames(attributes),
    key,
    keyType: keyTypeOf(key),
    spkiDer,
    spkiSha256,
    signatureAlgorithm,
    signature,
  };
}

/** The names in the single extensionRequest attribute, if any. The values of other attributes are ignored. */
function readRequestedNames(attributes: DerElement): SubjectAlternativeNames | null {
  let names: SubjectAlternativeNames | null = null;
  let seen = false;
  for (const attribute of DerReader.unsortedSetOf(attributes, 'the attributes').rest(0, 'attribute')) {
    const reader = DerReader.sequence(attribute, 'an attribute');
    const type = objectIdentifierValue(reader.next('type'), 'an attribute type');
    const values = expectUniversal(reader.next('values'), tags.set, 'the values of an attribute');
    reader.end();
    if (type !== extensionRequest) continue;
    if (seen) throw new DerError('more than one extensionRequest attribute', attribute.offset);
    seen = true;
    const value = DerReader.setOf(values, 'the extensionRequest');
    const extensions = readExtensions(value.next('value'), 0);
    value.end();
    names = readSubjectAlternativeNames(extensions);
  }
  return names;
}
