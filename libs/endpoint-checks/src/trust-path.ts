import { type Certificate, verifySignature } from '@certwright/pki';
import { CaKeys } from './ca-keys';

/** CAs that a visitor trusts, and CAs below them that are known to exist. */
export interface Trust {
  readonly roots: CaKeys;
  readonly intermediates: CaKeys;
}

/**
 * `trusted`: a path of presented certificates ends at a root. `incomplete`: only a known CA that was not presented makes the
 * path complete. `none`: neither.
 */
export interface TrustPath {
  readonly kind: 'trusted' | 'incomplete' | 'none';
  /** Names of weak signature algorithms on the path, each once. Such signatures are not verified. */
  readonly weakSignatures: readonly string[];
}

/** Browsers refuse longer paths as well; no public CA needs more than three. */
const maxDepth = 8;

/** Max signatures that are verified for one leaf: the server chooses the certificates. */
const maxVerified = 64;

/** Max certificates that both searches of a leaf visit: certificates of one name can follow each other in any order. */
const maxVisited = 1_000;

/** Collisions and preimages of these are, or will be, affordable. */
const weakAlgorithms = new Set([
  'md2WithRSAEncryption',
  'md5WithRSAEncryption',
  'sha1WithRSAEncryption',
  'dsa-with-SHA1',
  'ecdsa-with-SHA1',
]);

/**
 * Looks for a path from the leaf to a root (RFC 5280, section 6.1, without policies and name constraints). The order of the
 * presented certificates does not matter; expired ones do not count.
 *
 * @param presented others that the server presented
 */
export function trustPath(
  leaf: Certificate,
  presented: readonly Certificate[],
  { roots, intermediates }: Trust,
  now: Date,
): TrustPath {
  const search = new PathSearch(
    presented.filter(({ isCa, notBefore, notAfter }) => isCa && notBefore <= now && now <= notAfter),
  );
  const trusted = search.from(leaf, [roots]);
  if (trusted !== null) return { kind: 'trusted', weakSignatures: [...new Set(trusted)] };
  const incomplete = search.from(leaf, [roots, intermediates]);
  return incomplete === null
    ? { kind: 'none', weakSignatures: weakOf(leaf) }
    : { kind: 'incomplete', weakSignatures: [...new Set(incomplete)] };
}

/**
 * Those of some CA certificates from which a path leads to a root: logs of public certificates accept roots that visitors do not
 * trust. One of them may certify another.
 */
export function casBelow(roots: CaKeys, certificates: readonly Certificate[], now: Date): CaKeys {
  const valid = certificates.filter(
    ({ isCa, notBefore, notAfter }) => isCa && notBefore <= now && now <= notAfter,
  );
  const trust = { roots, intermediates: new CaKeys() };
  return new CaKeys(
    valid
      .filter((each) => {
        const { kind, weakSignatures } = trustPath(each, valid, trust, now);
        return kind === 'trusted' && weakSignatures.length === 0;
      })
      .map(({ subject, spkiDer }) => ({ nameDer: subject.der, spkiDer })),
  );
}

class PathSearch {
  private verified = 0;
  private visited = 0;
  /** Results by signed certificate and key: both searches come by the same links. */
  private readonly results = new Map<string, boolean>();

  constructor(private readonly presented: readonly Certificate[]) {}

  /** @returns the weak signatures on the first path that is found; null: there is none */
  from(
    certificate: Certificate,
    anchors: readonly CaKeys[],
    path: readonly Certificate[] = [],
  ): readonly string[] | null {
    this.visited += 1;
    if (this.visited > maxVisited) return null;
    const { subject, spkiDer, issuer } = certificate;
    // A root itself, or one that another root certifies.
    if (anchors.some((anchor) => anchor.has({ nameDer: subject.der, spkiDer }))) return [];
    const isSigned = anchors.some((anchor) =>
      anchor.named(issuer.der).some((key) => this.isSignedBy(certificate, key)),
    );
    if (isSigned) return weakOf(certificate);
    if (path.length >= maxDepth) return null;
    for (const next of this.presented) {
      if (next === certificate || path.includes(next)) continue;
      if (Buffer.compare(next.subject.der, issuer.der) !== 0) continue;
      if (!this.isSignedBy(certificate, next.spkiDer)) continue;
      const rest = this.from(next, anchors, [...path, certificate]);
      if (rest !== null) return [...weakOf(certificate), ...rest];
    }
    return null;
  }

  private isSignedBy(certificate: Certificate, spkiDer: Uint8Array): boolean {
    if (isWeak(certificate)) return true;
    const { accepted } = certificate.signatureAlgorithm;
    if (accepted === undefined) return false;
    const key = `${certificate.sha256} ${Buffer.from(spkiDer).toString('latin1')}`;
    const known = this.results.get(key);
    if (known !== undefined) return known;
    if (this.verified >= maxVerified) return false;
    this.verified += 1;
    const result = verifySignature(spkiDer, accepted, certificate.tbsDer, certificate.signature);
    this.results.set(key, result);
    return result;
  }
}

const isWeak = ({ signatureAlgorithm }: Certificate): boolean => weakAlgorithms.has(signatureAlgorithm.name);

const weakOf = (certificate: Certificate): readonly string[] =>
  isWeak(certificate) ? [certificate.signatureAlgorithm.name] : [];

/** Whether the key of the certificate signed it, so that no CA vouches for it. */
export function isSelfSigned(certificate: Certificate): boolean {
  const { subject, issuer, spkiDer, signatureAlgorithm, tbsDer, signature } = certificate;
  if (Buffer.compare(subject.der, issuer.der) !== 0) return false;
  const { accepted } = signatureAlgorithm;
  return accepted === undefined || verifySignature(spkiDer, accepted, tbsDer, signature);
}
