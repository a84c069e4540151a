import type { Certificate } from '@certwright/pki';
import type { CertificateChain } from './certificate-chain';

/** The root that a chain should lead to. One member is enough. */
export interface PreferredRoot {
  readonly commonName?: string;
  /** SHA-256 over the DER SubjectPublicKeyInfo, lower-case hexadecimal. */
  readonly spkiSha256?: string;
}

/**
 * Returns the first chain that leads to the preferred root, else the CA's default chain. A chain leads to a root if
 * its topmost certificate is the root or was issued by it. A root outside the chain can be matched by key only if it
 * is among the known roots.
 */
export function chooseChain<T extends CertificateChain>(
  chains: readonly [T, ...T[]],
  preferred: PreferredRoot | null,
  knownRoots: readonly Certificate[] = [],
): T {
  const leadsThere = (chain: T) => preferred !== null && leadsTo(chain, preferred, knownRoots);
  return chains.find(leadsThere) ?? chains[0];
}

function leadsTo(
  { leaf, issuers }: CertificateChain,
  { commonName, spkiSha256 }: PreferredRoot,
  knownRoots: readonly Certificate[],
): boolean {
  const top = issuers.at(-1) ?? leaf;
  // Of the issuer alone: a root that an older root certifies has its own name, but leads to the older one.
  if (commonName !== undefined && top.issuer.commonNames.includes(commonName)) return true;
  const roots = knownRoots.filter((root) => isIssuedBy(top, root));
  return spkiSha256 !== undefined && [top, ...roots].some((root) => root.spkiSha256 === spkiSha256);
}

function isIssuedBy(certificate: Certificate, root: Certificate): boolean {
  const { authorityKeyId } = certificate;
  const sameKey =
    authorityKeyId === undefined || root.subjectKeyId === undefined || authorityKeyId === root.subjectKeyId;
  return sameKey && Buffer.compare(certificate.issuer.der, root.subject.der) === 0;
}
