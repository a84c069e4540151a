import type { Issuance, Terms } from '@certwright/issuance';
import type { Attachment } from '@certwright/ordering';
import { checkIssued, type IssuedMismatch, readCertificate } from '@certwright/pki';
import type { IssuedChain } from '../certificate-authorities/certificate-authority';

/**
 * What is wrong with a certificate that a CA delivered; nothing is attached that is not what was asked for.
 * How long it lasts is the CA's business: an ACME CA is not told when what was paid for ends (see newOrder), and a
 * certificate that outlives it is of use to whoever paid, while refusing it would cost another one of the CA's limits.
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
  { leaf, chain, root, renewalInfo }: IssuedChain,
  issuance: Issuance,
  terms: Terms,
  certificateId: string,
): Attachment {
  const reading = readCertificate(leaf);
  if (!reading.ok) throw new Error('a certificate without faults cannot be read');
  const { certificate } = reading;
  return {
    planId: issuance.planId,
    accountId: issuance.accountId,
    certificateId,
    dnsNames: certificate.dnsNames,
    keyType: terms.keyType,
    serialNumber: certificate.serialNumber,
    notBefore: certificate.notBefore,
    notAfter: certificate.notAfter,
    sha256: Buffer.from(certificate.sha256, 'hex'),
    spkiSha256: terms.spkiSha256,
    leaf,
    chain,
    root,
    approvals: issuance.approvals,
    renewalInfo: renewalInfo ?? null,
  };
}
