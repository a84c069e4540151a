import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { CaKeys } from '@certwright/endpoint-checks';

/** The roots of Mozilla's list that Node.js contains, and those of a file. @throws Error when the file has none */
export async function trustedRoots(file: string | null): Promise<CaKeys> {
  const known = rootCertificates.flatMap((pem) => certificatesOf(pem));
  if (file === null) return CaKeys.ofCertificates(known);
  const own = certificatesOf(await readFile(file, 'utf8'));
  if (own.length === 0) throw new Error(`TRUSTED_ROOTS_FILE: ${file} contains no certificate in PEM`);
  return CaKeys.ofCertificates([...known, ...own]);
}

function certificatesOf(pem: string): readonly Uint8Array[] {
  return [...pem.matchAll(certificate)].map(([, base64 = '']) => Buffer.from(base64, 'base64'));
}

/** Files of roots have texts between the certificates. */
const certificate = /-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g;
