import { createHash, X509Certificate } from 'node:crypto';
import { type CertificateMessage, limits } from '@certwright/agent-contract';
import { readCertificate } from '@certwright/pki';
import { isAccepted, type NamePattern } from '../configuration/values';

/** A certificate that passed every check of this host. */
export interface ReceivedCertificate {
  readonly sha256: string;
  readonly spkiSha256: string;
  readonly leaf: Uint8Array;
  readonly chain: readonly Uint8Array[];
  readonly root: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly dnsNames: readonly string[];
}

/** The server sent a certificate that this host does not install. The message says why. */
export class RefusedCertificate extends Error {}

export interface Expectation {
  readonly sha256: string;
  readonly spkiSha256: string;
  readonly accepted: readonly NamePattern[];
  /** Corrected by the server's clock. */
  readonly now: Date;
}

/**
 * Checks everything that the server could get wrong: hash, key, names, dates, and each signature of the chain up to the
 * root. Whether the root is trusted is up to visitors.
 */
export function checkReceived(message: CertificateMessage, expected: Expectation): ReceivedCertificate {
  const leaf = Buffer.from(message.leaf, 'base64');
  const sha256 = createHash('sha256').update(leaf).digest('hex');
  if (sha256 !== expected.sha256) throw new RefusedCertificate('the server sent another certificate');
  const reading = readCertificate(leaf);
  if (!reading.ok) throw new RefusedCertificate(`the certificate is not valid DER: ${reading.detail}`);
  const { spkiSha256, dnsNames, notBefore, notAfter, otherNameKinds } = reading.certificate;
  if (spkiSha256 !== expected.spkiSha256)
    throw new RefusedCertificate('the certificate is for another key than the one that this host holds');
  checkNames(dnsNames, expected.accepted);
  if (otherNameKinds.length > 0)
    throw new RefusedCertificate(
      `the certificate has names that are not DNS names (${otherNameKinds[0] ?? ''})`,
    );
  checkDates(notBefore, notAfter, expected.now);
  const chain = message.chain.map((der) => Buffer.from(der, 'base64'));
  const root = Buffer.from(message.root, 'base64');
  checkChain([leaf, ...chain, root], expected.now);
  return { sha256, spkiSha256, leaf, chain, root, notBefore, notAfter, dnsNames };
}

function checkNames(names: readonly string[], accepted: readonly NamePattern[]): void {
  if (names.length === 0) throw new RefusedCertificate('the certificate has no DNS names');
  const refused = names.find((name) => !isAccepted(accepted, name));
  if (refused !== undefined)
    throw new RefusedCertificate(
      `the certificate is for ${JSON.stringify(refused)}, which is not in names; add it if this host serves it`,
    );
}

function checkDates(notBefore: Date, notAfter: Date, now: Date): void {
  if (notAfter <= now) throw new RefusedCertificate(`the certificate expired at ${notAfter.toISOString()}`);
  if (notBefore > now)
    throw new RefusedCertificate(`the certificate is not valid before ${notBefore.toISOString()}`);
}

/** @param ders leaf, chain, root */
function checkChain(ders: readonly Buffer[], now: Date): void {
  if (ders.length > limits.maxChainCertificates + 2)
    throw new RefusedCertificate(`the chain has more than ${limits.maxChainCertificates} certificates`);
  const links = ders.map(parsed);
  // The root may be the last certificate of the chain.
  const path = links.filter(
    (link, index) => index === 0 || !link.raw.equals(links[index - 1]?.raw ?? Buffer.of()),
  );
  for (const [index, certificate] of path.entries()) {
    const issuer = path[index + 1];
    if (index > 0 && !certificate.ca)
      throw new RefusedCertificate(`certificate ${index} of the chain is not that of a CA`);
    if (index > 0) checkDates(new Date(certificate.validFrom), new Date(certificate.validTo), now);
    if (issuer !== undefined && !isIssued(certificate, issuer))
      throw new RefusedCertificate(`certificate ${index + 1} of the chain did not sign certificate ${index}`);
  }
  const root = path.at(-1);
  if (root === undefined || path.length < 2 || !isIssued(root, root))
    throw new RefusedCertificate('the chain does not end at a root certificate');
}

function parsed(der: Buffer): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch {
    throw new RefusedCertificate('the chain contains something that is not a certificate');
  }
}

function isIssued(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    return false;
  }
}
