import { certificateState } from '@certwright/issuance';
import type { StoredCertificate } from '@certwright/ordering';
import type { CertificateExpansion } from './expansion';
import { timestamp } from './timestamp';

/** A certificate in the words of the API. */
export function certificateJson(
  certificate: StoredCertificate,
  expansion: CertificateExpansion,
  now: Date,
): object {
  const state = certificateState(certificate, now);
  return {
    // Ids fit the integers of JSON's numbers: a constraint of the table.
    id: Number(certificate.id),
    state,
    current: certificate.isCurrent && state === 'valid',
    dns_names: certificate.dnsNames,
    expiration: timestamp(certificate.notAfter),
    not_before: timestamp(certificate.notBefore),
    sha256: Buffer.from(certificate.sha256).toString('hex'),
    key_type: certificate.keyType,
    pubkey_sha256: Buffer.from(certificate.spkiSha256).toString('hex'),
    ...(expansion.leaf ? { leaf: certificate.leaf.toString('base64') } : {}),
    ...(expansion.chain ? { chain: certificate.chain.map((der) => der.toString('base64')) } : {}),
    ...(expansion.root ? { root: certificate.root.toString('base64') } : {}),
  };
}
