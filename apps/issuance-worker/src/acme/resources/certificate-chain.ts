import { type Certificate, decodePem, readCertificate } from '@certwright/pki';
import { notAcme } from '../acme-fault';

/** The chain that a CA issued for an order: parsed and ordered, but not verified or compared with the request. */
export interface CertificateChain {
  readonly leaf: Certificate;
  /** Each issuer certifies the previous certificate, starting with the leaf; usually without the root. */
  readonly issuers: readonly Certificate[];
}

export interface DownloadedChain extends CertificateChain {
  readonly url: string;
  /** URLs of other chains for the same leaf (RFC 8555, section 7.4.2); only the first download lists them all. */
  readonly alternateUrls: readonly string[];
}

/** Max certificates in one file; CAs send two or three. */
const maxChainCertificates = 10;

/** RFC 8555, section 9.1: certificates only. @throws AcmeFault `not_acme` */
export function readChain(pem: Buffer): CertificateChain {
  const decoded = decodePem(pem.toString('latin1'), maxChainCertificates);
  if (!decoded.ok) throw malformed(`It is not PEM (${decoded.fault}).`);
  const certificates = decoded.blocks.map(({ label, der }) => {
    if (label !== 'CERTIFICATE') throw malformed('A block is no certificate.');
    const reading = readCertificate(der);
    if (!reading.ok) throw malformed('A certificate cannot be read as strict DER.');
    return reading.certificate;
  });
  const [leaf, ...issuers] = certificates;
  if (leaf === undefined) throw malformed('It is empty.');
  const isLinked = issuers.every(
    ({ subject }, index) => Buffer.compare(subject.der, certificates[index]?.issuer.der ?? Buffer.of()) === 0,
  );
  if (!isLinked) throw malformed('A certificate is not issued by the one after it.');
  return { leaf, issuers };
}

function malformed(why: string): Error {
  return notAcme(`The certificate chain that the ACME server sent cannot be used. ${why}`, {
    lasting: true,
  });
}
