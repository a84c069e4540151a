import { quoteInput } from '@certwright/dns-names';
import type { CertificatePlace, IssuedMismatch, PemFault } from '@certwright/pki';

type Of<C extends IssuedMismatch['code']> = Extract<IssuedMismatch, { readonly code: C }>;

const pemFaults = {
  too_long: 'The PEM text is too long.',
  stray_line:
    'The PEM text has a line outside of every block. Send only blocks, with BEGIN and END on lines of their own.',
  too_many_blocks: 'The PEM text has too many blocks, or one inside another.',
  other_label: 'A PEM block ends with another label than it began with.',
  not_base64: 'A PEM block is not valid base64. In a form, + must be sent as %2B.',
  no_end: 'A PEM block has no end.',
  no_block: 'The text has no PEM block.',
} as const satisfies Record<PemFault, string>;

export function pemFaultMessage(fault: PemFault): string {
  return pemFaults[fault];
}

/** @param detail of `readCertificate` */
export function unreadableCertificateMessage(detail: string): string {
  return `It is not an X.509 certificate in DER: ${detail}.`;
}

/** How a certificate differs from what was asked for: a sentence. */
export function issuedMismatchMessage(mismatch: IssuedMismatch): string {
  switch (mismatch.code) {
    case 'unreadable':
      return `The ${placeText(mismatch.place)} cannot be read. ${unreadableCertificateMessage(mismatch.detail)}`;
    case 'other_key':
      return 'The certificate is for another key than the request.';
    case 'is_ca':
      return 'The certificate is a CA certificate.';
    case 'is_precertificate':
      return 'The certificate is a precertificate, which no client accepts.';
    case 'issued_before':
      return 'The certificate is the one of an earlier request. Use a new key, for which the CA has none yet.';
    case 'no_server_auth':
      return 'The certificate is not for TLS servers: it has no extended key usage serverAuth.';
    case 'other_names':
      return otherNames(mismatch);
    case 'not_yet_valid':
      return `The ${placeText(mismatch.place)} is not valid before ${mismatch.notBefore}.`;
    case 'expired':
      return `The ${placeText(mismatch.place)} has expired at ${mismatch.notAfter}.`;
    case 'too_long':
      return `The certificate is valid until ${mismatch.notAfter}, beyond ${mismatch.maxNotAfter}.`;
    case 'broken_chain':
      return brokenChain(mismatch);
  }
}

function otherNames({ missing, extra, otherKinds, commonName }: Of<'other_names'>): string {
  const parts = [
    missing.length > 0 ? `lacks ${missing.map(quoteInput).join(', ')}` : '',
    extra.length > 0 ? `has ${extra.map(quoteInput).join(', ')}, which was not requested` : '',
    otherKinds.length > 0 ? `has a name that is not a DNS name (${otherKinds.join(', ')})` : '',
    commonName === null ? '' : `has the common name ${quoteInput(commonName)}, which was not requested`,
  ].filter((part) => part !== '');
  return `The certificate ${parts.join(' and ')}.`;
}

function brokenChain(mismatch: Of<'broken_chain'>): string {
  if (mismatch.fault === 'too_long') return `The chain is longer than ${mismatch.max} certificates.`;
  const { fault, place, issuer, algorithm } = mismatch;
  const why = {
    other_issuer: 'it names another issuer',
    algorithm: `it is signed with ${algorithm}`,
    signature: 'its signature was not made with that key',
    not_ca: 'that is not a CA certificate',
  } as const satisfies Record<typeof fault, string>;
  return `The ${placeText(place)} is not certified by the ${placeText(issuer)}: ${why[fault]}.`;
}

function placeText(place: CertificatePlace): string {
  return typeof place === 'number' ? `chain certificate ${place}` : place;
}
