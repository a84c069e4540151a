import { rootCertificates } from 'node:tls';
import { type Certificate, decodePem, readCertificate } from '@certwright/pki';

let roots: readonly Certificate[] | undefined;

/**
 * Roots of this name that every program trusts: those that come with Node. Read at the first call, which takes some 30 ms.
 *
 * @param subject DER of the whole Name
 */
export function trustedRoots(subject: Uint8Array): readonly Certificate[] {
  roots ??= rootCertificates.flatMap(readable);
  return roots.filter((root) => Buffer.compare(root.subject.der, subject) === 0);
}

/** Some old roots are not strict DER; nothing leads to those here. */
function readable(pem: string): readonly Certificate[] {
  const decoded = decodePem(pem, 1);
  const [block] = decoded.ok ? decoded.blocks : [];
  const reading = block === undefined ? null : readCertificate(block.der);
  return reading?.ok === true ? [reading.certificate] : [];
}
