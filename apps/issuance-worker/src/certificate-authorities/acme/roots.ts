import { rootCertificates } from 'node:tls';
import { type Certificate, decodePem, readCertificate } from '@certwright/pki';
import type { CertificateChain } from '../../acme';

let everybodys: readonly Certificate[] | undefined;

/** Trusted roots of a CA: the operator's roots for it and Node's own. */
export function rootsOf(trusted: readonly Uint8Array[]): readonly Certificate[] {
  everybodys ??= rootCertificates.flatMap((pem) => {
    const decoded = decodePem(pem, 1);
    return decoded.ok ? decoded.blocks.flatMap(({ der }) => readable(der)) : [];
  });
  return [...trusted.flatMap(readable), ...everybodys];
}

export interface CompletedChain {
  readonly chain: readonly Certificate[];
  readonly root: Certificate;
}

/**
 * Splits off or finds the root: the topmost certificate itself, or its issuer. Compares only names and key
 * identifiers; signatures are verified with everything else before a certificate is attached.
 *
 * @returns null when the chain leads to none of the roots
 */
export function completeChain(
  { leaf, issuers }: CertificateChain,
  roots: readonly Certificate[],
): CompletedChain | null {
  const itself = issuers.findIndex(({ sha256 }) => roots.some((root) => root.sha256 === sha256));
  const root = itself === -1 ? undefined : issuers[itself];
  if (root !== undefined) return { chain: issuers.slice(0, itself), root };
  const issuer = roots.find((candidate) => isIssuedBy(issuers.at(-1) ?? leaf, candidate));
  return issuer === undefined ? null : { chain: issuers, root: issuer };
}

/**
 * Leaves out what is above a known root: CAs also send a certificate of their root by an older one, which may not be
 * trusted any more.
 *
 * @returns null when no part of the chain leads to one of the roots
 */
export function shortenedChain(
  { leaf, issuers }: CertificateChain,
  roots: readonly Certificate[],
): CompletedChain | null {
  for (let length = issuers.length - 1; length >= 0; length--) {
    const completed = completeChain({ leaf, issuers: issuers.slice(0, length) }, roots);
    if (completed !== null) return completed;
  }
  return null;
}

function isIssuedBy({ issuer, authorityKeyId }: Certificate, root: Certificate): boolean {
  const sameKey =
    authorityKeyId === undefined || root.subjectKeyId === undefined || authorityKeyId === root.subjectKeyId;
  return sameKey && Buffer.compare(issuer.der, root.subject.der) === 0;
}

/** Some old roots are not strict DER; they are skipped. */
function readable(der: Uint8Array): readonly Certificate[] {
  const reading = readCertificate(der);
  return reading.ok ? [reading.certificate] : [];
}
