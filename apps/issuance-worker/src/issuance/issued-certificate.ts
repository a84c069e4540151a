import type { Issuance, Terms } from '@certwright/issuance';
import type { Attachment } from '@certwright/ordering';
import { checkIssued, type IssuedMismatch, logIdentity, readCertificate } from '@certwright/pki';
import type { IssuedChain } from '../certificate-authorities/certificate-authority';

/**
 * Mismatches of a certificate that a CA delivered; only a certificate that matches the request is attached. Its
 * lifetime is not checked: an ACME CA does not learn when the paid term ends (see newOrder), and a certificate that
 * outlives it is useful to the buyer, while a refusal would use up more of the CA's limits.
 */
export function certificateFaults(
  { leaf, chain, root }: IssuedChain,
  terms: Terms,
  now: Date,
): readonly IssuedMismatch[] {
  const spkiSha256 = Buffer.from(terms.spkiSha256).toString('hex');
  return checkIssued({ leaf, chain, root }, { dnsNames: terms.dnsNames, spkiSha256, now });
}

export function attachmentOf(
  { leaf, chain, root, renewalInfo, store }: IssuedChain,
  issuance: Issuance,
  terms: Terms,
  certificateId: string,
): Attachment {
  const reading = readCertificate(leaf);
  if (!reading.ok) throw new Error('a verified certificate cannot be read');
  const { certificate } = reading;
  const { tbsSha256, hasSctList } = logIdentity(leaf);
  return {
    planId: issuance.planId,
    accountId: issuance.accountId,
    certificateId,
    // The names of the order; a CA may write them in another case.
    dnsNames: [...new Set(certificate.dnsNames.map((name) => name.toLowerCase()))],
    keyType: terms.keyType,
    serialNumber: certificate.serialNumber,
    notBefore: certificate.notBefore,
    notAfter: certificate.notAfter,
    sha256: Buffer.from(certificate.sha256, 'hex'),
    spkiSha256: terms.spkiSha256,
    leaf,
    tbsSha256: Buffer.from(tbsSha256, 'hex'),
    hasSctList,
    chain,
    root,
    approvals: issuance.approvals,
    renewalInfo: renewalInfo ?? null,
    ...(store !== undefined && { also: store }),
  };
}
