import type { Certificate } from '@certwright/pki';
import type { CertificateChain } from './certificate-chain';

/** Which root a chain should lead to. Either is enough. */
export interface PreferredRoot {
  readonly commonName?: string;
  /** SHA-256 over the DER SubjectPublicKeyInfo, lower-case hexadecimal. */
  readonly spkiSha256?: string;
}

/**
 * The first chain that leads to the preferred root, else the first, which is the CA's own choice. A chain leads to a root
 * that its topmost certificate is, or is issued by; by its key a root that is not in the chain can be told only when it is
 * among the known ones.
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
  const names = [...top.issuer.commonNames, ...top.subject.commonNames];
  if (commonName !== undefined && names.includes(commonName)) return true;
  const roots = knownRoots.filter((root) => isIssuedBy(top, root));
  return spkiSha256 !== undefined && [top, ...roots].some((root) => root.spkiSha256 === spkiSha256);
}

function isIssuedBy(certificate: Certificate, root: Certificate): boolean {
  const { authorityKeyId } = certificate;
  const sameKey =
    authorityKeyId === undefined || root.subjectKeyId === undefined || authorityKeyId === root.subjectKeyId;
  return sameKey && Buffer.compare(certificate.issuer.der, root.subject.der) === 0;
}
