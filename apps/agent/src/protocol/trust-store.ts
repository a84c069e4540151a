import { rootCertificates } from 'node:tls';
import { decodePem, encodePem } from '@certwright/pki';
import { errorCode } from '../files/durable';
import type { Files } from '../files/files';

/** Where distributions keep the certificates that the system trusts. */
const systemStores = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
] as const;

/** Bytes of a trust store; Debian's has 220 KiB. */
const maxBytes = 8 * 1024 * 1024;

export class TrustFault extends Error {}

/**
 * Certificates that the server's may lead to, in PEM: of `ca_file` alone when it is set, else of the system. Node.js has
 * its own list, which a private CA that the operator added to the system is not part of; it is the last resort.
 */
export function trustedCertificates(files: Files, caFile: string | null): readonly string[] {
  if (caFile !== null) {
    const text = files.read(caFile, maxBytes).toString('latin1');
    const found = certificatesIn(text);
    if (found.length === 0)
      throw new TrustFault(`${caFile} contains no certificate; write CA certificates in PEM into it`);
    return found;
  }
  for (const store of systemStores) {
    try {
      const found = certificatesIn(files.read(store, maxBytes).toString('latin1'));
      if (found.length > 0) return found;
    } catch (error) {
      if (!['ENOENT', 'EACCES', 'ELOOP', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error;
    }
  }
  return rootCertificates;
}

/** Distributions write comments between the blocks. */
function certificatesIn(text: string): readonly string[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    const decoded = decodePem(block, 1);
    return decoded.ok ? decoded.blocks.map(({ label, der }) => encodePem(label, der)) : [];
  });
}
