import { lowerCaseAscii } from '../ascii-case';
import { verifySignature } from '../signature';
import { type Certificate, type CertificateReading, readCertificate } from './read-certificate';

/** DER, as a CA has delivered it. */
export interface IssuedCertificate {
  readonly leaf: Uint8Array;
  /** The first certifies the leaf, each next one the one before it. */
  readonly chain: readonly Uint8Array[];
  /** Certifies the last certificate of the chain, or the leaf when the chain is empty. */
  readonly root: Uint8Array;
}

export interface IssuedExpectation {
  /** In normal form. */
  readonly dnsNames: readonly string[];
  /** SHA-256 over the DER SubjectPublicKeyInfo of the request, lower-case hexadecimal. */
  readonly spkiSha256: string;
  readonly now: Date;
  /** Maximum validity of the product. */
  readonly maxNotAfter?: Date;
}

/** A number: the place in the chain, from 1. */
export type CertificatePlace = 'leaf' | 'root' | number;

/** How a certificate differs from the requested one. It survives JSON: times are RFC 3339. */
export type IssuedMismatch =
  /** `detail`: the message of the DER reader. */
  | { readonly code: 'unreadable'; readonly place: CertificatePlace; readonly detail: string }
  | { readonly code: 'other_key' | 'is_ca' | 'is_precertificate' | 'no_server_auth' }
  /** Found by the caller, who has the earlier ones. */
  | { readonly code: 'issued_before' }
  /** At most ten of each, cut to the length of a DNS name. `commonName`: one that was not requested; null: none. */
  | {
      readonly code: 'other_names';
      readonly missing: readonly string[];
      readonly extra: readonly string[];
      /** Kinds of names that are no DNS names. */
      readonly otherKinds: readonly string[];
      readonly commonName: string | null;
    }
  | { readonly code: 'not_yet_valid'; readonly place: CertificatePlace; readonly notBefore: string }
  | { readonly code: 'expired'; readonly place: CertificatePlace; readonly notAfter: string }
  | { readonly code: 'too_long'; readonly notAfter: string; readonly maxNotAfter: string }
  | { readonly code: 'broken_chain'; readonly fault: 'too_long'; readonly max: number }
  /** The certificate at `issuer` does not certify the one at `place`. `algorithm`: one that is not accepted. */
  | {
      readonly code: 'broken_chain';
      readonly fault: 'other_issuer' | 'algorithm' | 'signature' | 'not_ca';
      readonly place: CertificatePlace;
      readonly issuer: CertificatePlace;
      readonly algorithm: string;
    };

export type IssuedMismatchCode = IssuedMismatch['code'];

/** Maximum number of certificates between leaf and root; CAs use one or two. */
const maxChainLength = 8;

/** id-kp-serverAuth (RFC 5280, section 4.2.1.12). */
const serverAuth = '1.3.6.1.5.5.7.3.1';

/**
 * Compares the certificate of a CA with the requested one and returns all differences; without any, it may be
 * attached. The root is trusted as given: neither its own signature nor its validity is checked.
 */
export function checkIssued(
  issued: IssuedCertificate,
  expectation: IssuedExpectation,
): readonly IssuedMismatch[] {
  if (issued.chain.length > maxChainLength)
    return [{ code: 'broken_chain', fault: 'too_long', max: maxChainLength }];
  const places: CertificatePlace[] = ['leaf', ...issued.chain.map((_, index) => index + 1), 'root'];
  const certificates: Certificate[] = [];
  const unreadable: IssuedMismatch[] = [];
  for (const [index, der] of [issued.leaf, ...issued.chain, issued.root].entries()) {
    const reading = index === 0 ? readCertificate(der) : readIssuer(der);
    if (reading.ok) certificates.push(reading.certificate);
    else unreadable.push({ code: 'unreadable', place: places[index] ?? 'leaf', detail: reading.detail });
  }
  const [leaf] = certificates;
  if (unreadable.length > 0 || leaf === undefined) return unreadable;
  return [...checkLeaf(leaf, expectation), ...checkChain(certificates, places, expectation.now)];
}

/** Certificates of issuers by their DER, each byte a character: few, and the same for every leaf of a CA. */
const knownIssuers = new Map<string, CertificateReading>();
const maxKnownIssuers = 64;

/** Issuers of each known issuer: this link is sound. */
const soundLinks = new WeakMap<Certificate, WeakSet<Certificate>>();

function readIssuer(der: Uint8Array): CertificateReading {
  const key = Buffer.from(der.buffer, der.byteOffset, der.byteLength).toString('latin1');
  const known = knownIssuers.get(key);
  if (known !== undefined) return known;
  const reading = readCertificate(Uint8Array.from(der));
  if (knownIssuers.size >= maxKnownIssuers) knownIssuers.clear();
  if (reading.ok) knownIssuers.set(key, reading);
  return reading;
}

function checkLeaf(leaf: Certificate, expectation: IssuedExpectation): readonly IssuedMismatch[] {
  const mismatches: IssuedMismatch[] = [];
  if (leaf.spkiSha256 !== expectation.spkiSha256) mismatches.push({ code: 'other_key' });
  const names = differenceOfNames(leaf, expectation.dnsNames);
  if (names !== undefined) mismatches.push(names);
  mismatches.push(...checkValidity(leaf, 'leaf', expectation.now));
  if (expectation.maxNotAfter !== undefined && leaf.notAfter > expectation.maxNotAfter) {
    const maxNotAfter = expectation.maxNotAfter.toISOString();
    mismatches.push({ code: 'too_long', notAfter: leaf.notAfter.toISOString(), maxNotAfter });
  }
  if (leaf.isCa) mismatches.push({ code: 'is_ca' });
  if (leaf.isPrecertificate) mismatches.push({ code: 'is_precertificate' });
  if (leaf.extendedKeyUsages?.includes(serverAuth) !== true) {
    mismatches.push({ code: 'no_server_auth' });
  }
  return mismatches;
}

/** Undefined when the certificate has exactly the names. Its common names may repeat some of them. */
function differenceOfNames(leaf: Certificate, expected: readonly string[]): IssuedMismatch | undefined {
  const actual = new Set(leaf.dnsNames.map(lowerCaseAscii));
  const missing = expected.filter((name) => !actual.has(name));
  const extra = [...actual].filter((name) => !expected.includes(name));
  const commonName = leaf.subject.commonNames.find((name) => !expected.includes(lowerCaseAscii(name)));
  const { otherNameKinds: otherKinds } = leaf;
  if (commonName === undefined && missing.length + extra.length + otherKinds.length === 0) return undefined;
  return {
    code: 'other_names',
    missing: missing.slice(0, maxNamed),
    extra: extra.slice(0, maxNamed).map(cut),
    otherKinds: [...new Set(otherKinds)],
    commonName: commonName === undefined ? null : cut(commonName),
  };
}

const maxNamed = 10;
/** RFC 1035, section 2.3.4: a name has at most 255 bytes. The CA chose any longer value. */
const maxNameLength = 255;

const cut = (name: string) => name.slice(0, maxNameLength);

function checkValidity(
  certificate: Certificate,
  place: CertificatePlace,
  now: Date,
): readonly IssuedMismatch[] {
  const { notBefore, notAfter } = certificate;
  if (now < notBefore) {
    return [{ code: 'not_yet_valid', place, notBefore: notBefore.toISOString() }];
  }
  // RFC 5280, section 4.1.2.5: the validity includes notAfter.
  return now > notAfter ? [{ code: 'expired', place, notAfter: notAfter.toISOString() }] : [];
}

/** Every certificate except the root names the next one as its issuer, is signed by it, and the next one is a CA. */
function checkChain(
  certificates: readonly Certificate[],
  places: readonly CertificatePlace[],
  now: Date,
): readonly IssuedMismatch[] {
  return certificates.slice(0, -1).flatMap((certificate, index) => {
    const issuer = certificates[index + 1];
    const [place = 'leaf', issuerPlace = 'root'] = places.slice(index);
    const mismatches = index === 0 ? [] : [...checkValidity(certificate, place, now)];
    const fault =
      issuer === undefined
        ? undefined
        : index === 0
          ? linkFault(certificate, issuer)
          : issuerFault(certificate, issuer);
    if (fault !== undefined) {
      const { name: algorithm } = certificate.signatureAlgorithm;
      mismatches.push({ code: 'broken_chain', fault, place, issuer: issuerPlace, algorithm });
    }
    return mismatches;
  });
}

function issuerFault(certificate: Certificate, issuer: Certificate): ReturnType<typeof linkFault> {
  if (soundLinks.get(certificate)?.has(issuer) === true) return undefined;
  const fault = linkFault(certificate, issuer);
  if (fault !== undefined) return fault;
  const links = soundLinks.get(certificate) ?? new WeakSet();
  soundLinks.set(certificate, links.add(issuer));
  return undefined;
}

function linkFault(
  certificate: Certificate,
  issuer: Certificate,
): 'other_issuer' | 'algorithm' | 'signature' | 'not_ca' | undefined {
  if (Buffer.compare(certificate.issuer.der, issuer.subject.der) !== 0) return 'other_issuer';
  const { accepted } = certificate.signatureAlgorithm;
  if (accepted === undefined) return 'algorithm';
  if (!verifySignature(issuer.spkiDer, accepted, certificate.tbsDer, certificate.signature)) {
    return 'signature';
  }
  return issuer.isCa ? undefined : 'not_ca';
}
