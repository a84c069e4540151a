import type { Certificate } from '@certwright/pki';
import { badCertificate } from './import-request';

/** CA/Browser Forum, Extended Validation guidelines: the policy 2.23.140.1.1, as DER. */
const evPolicy = Buffer.from('060567810c0101', 'hex');

/**
 * What existing clients want to know of a certificate before they import it.
 *
 * @throws Refusal `bad_certificate` when it has no name that it could be called by
 */
export function parsedCertificateJson(certificate: Certificate): object {
  const { subjectCommonName, dnsNames, otherNameKinds, spkiSha256, sha1, sha256 } = certificate;
  const cn = subjectCommonName ?? dnsNames[0];
  if (cn === undefined) throw badCertificate('crt', 'has neither a common name nor a DNS name.');
  return {
    cn: cn.toLowerCase(),
    sans: [
      ...dnsNames.map((value) => ({ type: 'dns', value })),
      ...otherNameKinds.map((value) => ({ type: 'other', value })),
    ],
    pubkey_hash: spkiSha256,
    sha1_fingerprint: sha1,
    sha256_fingerprint: sha256,
    expiration: Math.floor(certificate.notAfter.getTime() / 1_000),
    ev: Buffer.from(certificate.tbsDer).includes(evPolicy),
  };
}
