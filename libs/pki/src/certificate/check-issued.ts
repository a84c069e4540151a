import { quoteInput } from '@certwright/dns-names';
import { lowerCaseAscii } from '../ascii-case';
import { verifySignature } from '../signature';
import { type Certificate, readCertificate } from './read-certificate';

/** DER, as a CA has delivered it. */
export interface IssuedCertificate {
  readonly leaf: Uint8Array;
  /** The first certifies the leaf, each next one the one before it. */
  readonly chain: readonly Uint8Array[];
  /** Certifies the last of the chain, or the leaf when there is none. */
  readonly root: Uint8Array;
}

export interface IssuedExpectation {
  /** In normal form. */
  readonly dnsNames: readonly string[];
  /** SHA-256 over the DER SubjectPublicKeyInfo of the request, lower-case hexadecimal. */
  readonly spkiSha256: string;
  readonly now: Date;
  /** The longest validity that the product may have. */
  readonly maxNotAfter?: Date;
}

export type IssuedMismatchCode =
  | 'unreadable'
  | 'other_key'
  | 'other_names'
  | 'not_yet_valid'
  | 'expired'
  | 'too_long'
  | 'is_ca'
  | 'no_server_auth'
  | 'broken_chain';

export interface IssuedMismatch {
  readonly code: IssuedMismatchCode;
  /** For an operator. */
  readonly message: string;
}

/** Certificates between leaf and root, at most; CAs use one or two. */
const longestChain = 8;

/** id-kp-serverAuth (RFC 5280, section 4.2.1.12). */
const serverAuth = '1.3.6.1.5.5.7.3.1';

/**
 * Whether a CA has delivered what was asked for: everything that is not as it should be; none means that the certificate may
 * be attached. The root is trusted as given: neither its own signature nor its validity is looked at.
 */
export function checkIssued(
  issued: IssuedCertificate,
  expectation: IssuedExpectation,
): readonly IssuedMismatch[] {
  if (issued.chain.length > longestChain)
    return [{ code: 'broken_chain', message: `The chain is longer than ${longestChain}.` }];
  const places = ['leaf', ...issued.chain.map((_, index) => `chain certificate ${index + 1}`), 'root'];
  const certificates: Certificate[] = [];
  const unreadable: IssuedMismatch[] = [];
  for (const [index, der] of [issued.leaf, ...issued.chain, issued.root].entries()) {
    const reading = readCertificate(der);
    if (reading.ok) certificates.push(reading.certificate);
    else
      unreadable.push({
        code: 'unreadable',
        message: `The ${places[index]} cannot be read. ${reading.message}`,
      });
  }
  const [leaf] = certificates;
  if (unreadable.length > 0 || leaf === undefined) return unreadable;
  return [...checkLeaf(leaf, expectation), ...checkChain(certificates, places, expectation.now)];
}

function checkLeaf(leaf: Certificate, expectation: IssuedExpectation): readonly IssuedMismatch[] {
  const mismatches: IssuedMismatch[] = [];
  const found = (code: IssuedMismatchCode, message: string) => mismatches.push({ code, message });
  if (leaf.spkiSha256 !== expectation.spkiSha256)
    found('other_key', 'The certificate is for another key than the request.');
  const names = differenceOfNames(leaf, expectation.dnsNames);
  if (names !== undefined) found('other_names', names);
  mismatches.push(...checkValidity(leaf, 'leaf', expectation.now));
  if (expectation.maxNotAfter !== undefined && leaf.notAfter > expectation.maxNotAfter) {
    const allowed = expectation.maxNotAfter.toISOString();
    found('too_long', `The certificate is valid until ${leaf.notAfter.toISOString()}, beyond ${allowed}.`);
  }
  if (leaf.isCa) found('is_ca', 'The certificate is a CA certificate.');
  if (leaf.extendedKeyUsages?.includes(serverAuth) !== true) {
    found(
      'no_server_auth',
      'The certificate is not for TLS servers: it has no extended key usage serverAuth.',
    );
  }
  return mismatches;
}

/** Undefined when the certificate has exactly the names. Its common name may repeat one of them. */
function differenceOfNames(leaf: Certificate, expected: readonly string[]): string | undefined {
  const actual = new Set(leaf.dnsNames.map(lowerCaseAscii));
  const missing = expected.filter((name) => !actual.has(name));
  const extra = [...actual].filter((name) => !expected.includes(name));
  const commonName = leaf.subjectCommonName;
  const parts = [
    missing.length > 0 ? `lacks ${missing.map(quoteInput).join(', ')}` : '',
    extra.length > 0 ? `has ${extra.map(quoteInput).join(', ')} that nobody asked for` : '',
    leaf.otherNameKinds.length > 0
      ? `has a name that is no DNS name (${leaf.otherNameKinds.join(', ')})`
      : '',
    commonName !== undefined && !expected.includes(lowerCaseAscii(commonName))
      ? `has the common name ${quoteInput(commonName)} that nobody asked for`
      : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? undefined : `The certificate ${parts.join(' and ')}.`;
}

function checkValidity(certificate: Certificate, place: string, now: Date): readonly IssuedMismatch[] {
  const { notBefore, notAfter } = certificate;
  if (now < notBefore) {
    return [
      { code: 'not_yet_valid', message: `The ${place} is not valid before ${notBefore.toISOString()}.` },
    ];
  }
  // RFC 5280, section 4.1.2.5: notAfter itself is still within the validity.
  return now > notAfter
    ? [{ code: 'expired', message: `The ${place} has expired at ${notAfter.toISOString()}.` }]
    : [];
}

/** Every certificate but the root is named and signed by the next one, which is a CA. */
function checkChain(
  certificates: readonly Certificate[],
  places: readonly string[],
  now: Date,
): readonly IssuedMismatch[] {
  return certificates.slice(0, -1).flatMap((certificate, index) => {
    const issuer = certificates[index + 1];
    const place = places[index] ?? '';
    const mismatches = index === 0 ? [] : [...checkValidity(certificate, place, now)];
    const fault = issuer === undefined ? undefined : linkFault(certificate, issuer);
    if (fault !== undefined) {
      mismatches.push({
        code: 'broken_chain',
        message: `The ${place} is not certified by the ${places[index + 1]}: ${fault}.`,
      });
    }
    return mismatches;
  });
}

function linkFault(certificate: Certificate, issuer: Certificate): string | undefined {
  if (Buffer.compare(certificate.issuer.der, issuer.subject.der) !== 0) return 'it names another issuer';
  const { accepted, name } = certificate.signatureAlgorithm;
  if (accepted === undefined) return `it is signed with ${name}`;
  if (!verifySignature(issuer.spkiDer, accepted, certificate.tbsDer, certificate.signature)) {
    return 'its signature was not made with that key';
  }
  return issuer.isCa ? undefined : 'that is not a CA certificate';
}
