import { rootCertificates } from 'node:tls';
import { type Certificate, decodePem, readCertificate } from '@certwright/pki';
import type { CertificateChain } from '../../acme';

let everybodys: readonly Certificate[] | undefined;

/** What a CA's certificates may lead up to: the operator's roots for it, and those that every program trusts. */
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
 * The chain without its root, and the root: the topmost certificate itself, or whoever issued it. Only names and key
 * identifiers are compared; signatures are verified with all else before anything is attached.
 *
 * @returns null when it leads to none of the roots
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

function isIssuedBy({ issuer, authorityKeyId }: Certificate, root: Certificate): boolean {
  const sameKey =
    authorityKeyId === undefined || root.subjectKeyId === undefined || authorityKeyId === root.subjectKeyId;
  return sameKey && Buffer.compare(issuer.der, root.subject.der) === 0;
}

/** Some old roots are not strict DER; nothing leads to those here. */
function readable(der: Uint8Array): readonly Certificate[] {
  const reading = readCertificate(der);
  return reading.ok ? [reading.certificate] : [];
}
