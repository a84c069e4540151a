import type { X509Certificate } from 'node:crypto';

/** `spiffe://certwright.internal/issuance-worker`: a trust domain and a path (SPIFFE-ID, section 2), nothing that needs an escape. */
export const clientIdentityPattern =
  /^spiffe:\/\/[a-z0-9][a-z0-9.-]{0,253}(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}){1,8}$/;

/**
 * Who the holder of a client certificate is: its one URI among the subject's alternative names.
 *
 * Node prints a name as it stands, and in JSON quotes when it holds anything that could end the entry early: a comma, a
 * quote, a control character. No name of ours needs that, so a certificate with one is refused whole, before the text is
 * cut into entries.
 *
 * @param subjectAltName as `X509Certificate.subjectAltName` has it
 * @returns null when there is no such name, more than one, or one that is not written plainly
 */
export function identityIn(subjectAltName: string | undefined): string | null {
  if (subjectAltName === undefined || !/^[\x20-\x7e]*$/.test(subjectAltName)) return null;
  if (/["\\]/.test(subjectAltName)) return null;
  const uris = subjectAltName.split(', ').filter((entry) => entry.startsWith('URI:'));
  const identity = uris[0]?.slice('URI:'.length);
  return uris.length === 1 && identity !== undefined && clientIdentityPattern.test(identity)
    ? identity
    : null;
}

/** A connection may outlive the certificate that it was opened with, and a request on it is judged anew. */
export function isInForce(
  { validFrom, validTo }: Pick<X509Certificate, 'validFrom' | 'validTo'>,
  now: Date,
): boolean {
  return Date.parse(validFrom) <= now.getTime() && now.getTime() <= Date.parse(validTo);
}
