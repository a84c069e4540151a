import type { X509Certificate } from 'node:crypto';

/** `spiffe://certwright.internal/issuance-worker`: a trust domain and a path (SPIFFE-ID, section 2), nothing that needs an escape. */
export const clientIdentityPattern =
  /^spiffe:\/\/[a-z0-9][a-z0-9.-]{0,253}(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}){1,8}$/;

/**
 * The identity of a client certificate: the only URI among its subject alternative names.
 *
 * Node prints a name unchanged, or as a JSON string when it contains a character that could end the entry early: a
 * comma, a quote, a control character. Our names contain none of these, so a certificate with such a name is refused
 * before the text is split into entries.
 *
 * @param subjectAltName as in `X509Certificate.subjectAltName`
 * @returns null when there is no URI, more than one, one that does not match the pattern, or any name in JSON quotes
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

/** Checked for every request, because a connection may outlive the certificate that it was opened with. */
export function isInForce(
  { validFrom, validTo }: Pick<X509Certificate, 'validFrom' | 'validTo'>,
  now: Date,
): boolean {
  return Date.parse(validFrom) <= now.getTime() && now.getTime() <= Date.parse(validTo);
}
