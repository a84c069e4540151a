import { sha256Hex, withoutSctList } from '@certwright/pki';
import type { Issued } from './reading/read-issued';

/**
 * The TBSCertificate that a certificate and its precertificate share (RFC 6962, section 3.2). For a precertificate
 * entry it is derived from the TBSCertificate of the leaf: a precertificate that was signed by a precertificate
 * signing certificate has another issuer. Null when there is no TBSCertificate.
 */
export function transparencyTbs({ bytes, layout, extensions: { list, removed } }: Issued): Buffer | null {
  if (layout === null) return null;
  const { tbs, extensions: wrapper } = layout;
  if (removed.length === 0 || wrapper === null || list === null) return bytes.subarray(tbs.at, tbs.next);
  return withoutSctList({ bytes, tbs, wrapper, list, removed });
}

/**
 * SHA-256 over the transparency TBSCertificate, in hexadecimal. If there is none, over all bytes, which
 * still identify one issuance.
 */
export function tbsSha256(issued: Issued): string {
  return sha256Hex(transparencyTbs(issued) ?? issued.bytes);
}
