import { X509Certificate } from 'node:crypto';
import { fingerprintOf, type Root } from './accepted-roots';

/** The reason why a submission is refused; its message is part of the response. */
export class SubmissionFault extends Error {}

/** Maximum number of certificates in a submission, including a root. */
export const maxChainLength = 10;

export interface ChainRules {
  readonly roots: ReadonlyMap<string, Root>;
  /** Whether a chain may also end at a self-signed certificate that is not an accepted root. */
  readonly acceptAnyRoot: boolean;
}

export interface Link {
  readonly der: Buffer;
  readonly x509: X509Certificate;
}

/**
 * Checks that each certificate has signed the one before it, up to an accepted root (RFC 6962, section 3.1). Neither
 * validity nor path length is checked, because a log should also contain misissued certificates.
 *
 * @returns the submitted certificate first, the root last, which a submitter may leave out
 * @throws SubmissionFault
 */
export function checkedChain(ders: readonly Buffer[], { roots, acceptAnyRoot }: ChainRules): readonly Link[] {
  const links = ders.map((der, at) => ({ der, x509: parsed(der, at) }));
  for (const [at, link] of links.entries()) {
    const issuer = links[at + 1];
    if (issuer !== undefined && !hasSigned(issuer, link))
      throw new SubmissionFault(`Certificate ${at + 2} of the chain has not signed certificate ${at + 1}.`);
  }
  const last = links.at(-1);
  if (last === undefined) throw new SubmissionFault('The chain is empty.');
  if (roots.has(fingerprintOf(last.der))) return links;
  const root = [...roots.values()].find((each) => hasSigned(each, last));
  if (root !== undefined) return [...links, root];
  if (acceptAnyRoot && hasSigned(last, last)) return links;
  throw new SubmissionFault(
    acceptAnyRoot
      ? 'The chain ends at a certificate that is not self-signed.'
      : 'The chain does not end at an accepted root; see get-roots.',
  );
}

/** OpenSSL also parses PEM, BER, and certificates with trailing bytes; the log accepts only canonical DER. */
function parsed(der: Buffer, at: number): X509Certificate {
  let x509: X509Certificate;
  try {
    x509 = new X509Certificate(der);
  } catch {
    throw new SubmissionFault(`Certificate ${at + 1} of the chain cannot be parsed.`);
  }
  if (!x509.raw.equals(der)) throw new SubmissionFault(`Certificate ${at + 1} of the chain is not in DER.`);
  return x509;
}

function hasSigned(issuer: Link, subject: Link): boolean {
  try {
    const mayIssue = issuer.x509.ca || issuer === subject;
    return mayIssue && subject.x509.checkIssued(issuer.x509) && subject.x509.verify(issuer.x509.publicKey);
  } catch {
    // OpenSSL does not support the key.
    return false;
  }
}
