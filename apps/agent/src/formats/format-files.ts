import { encodePem } from '@certwright/pki';
import { encodePkcs12 } from './pkcs12';

/** All DER. `root` is part of no file: visitors have it or do not trust it. */
export interface CertificateMaterial {
  readonly leaf: Uint8Array;
  /** From the issuer of the leaf upwards. A root in it is left out. */
  readonly chain: readonly Uint8Array[];
  readonly root: Uint8Array | null;
  readonly pkcs8: Uint8Array;
  /** Of the PKCS#12 file, 1 to 1,000 characters of printable ASCII; without one there is no such file. */
  readonly password?: string;
}

export type FormattedFileName =
  'fullchain.pem' | 'cert.pem' | 'chain.pem' | 'privkey.pem' | 'combined.pem' | 'bundle.p12';

/**
 * The files of one version. The same input results in the same bytes.
 *
 * `combined.pem` starts with the key, since Postfix requires that of `smtpd_tls_chain_files`; the others accept any order.
 *
 * @throws RangeError when the password has other characters
 */
export function formatFiles(material: CertificateMaterial): ReadonlyMap<FormattedFileName, Uint8Array> {
  const { leaf, root, pkcs8, password } = material;
  const chain = material.chain.filter((der) => root === null || Buffer.compare(der, root) !== 0);
  const key = encodePem('PRIVATE KEY', pkcs8);
  const [certPem, ...chainPem] = [leaf, ...chain].map((der) => encodePem('CERTIFICATE', der));
  const fullchain = [certPem, ...chainPem].join('');
  const files = new Map<FormattedFileName, Uint8Array>([
    ['fullchain.pem', Buffer.from(fullchain)],
    ['cert.pem', Buffer.from(certPem ?? '')],
    ['chain.pem', Buffer.from(chainPem.join(''))],
    ['privkey.pem', Buffer.from(key)],
    ['combined.pem', Buffer.from(key + fullchain)],
  ]);
  if (password !== undefined) files.set('bundle.p12', encodePkcs12({ leaf, chain, pkcs8, password }));
  return files;
}
