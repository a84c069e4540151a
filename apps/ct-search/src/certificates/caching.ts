import type { Certificate } from '../issuances/certificate';

/** A certificate stays what it is; a precertificate gives way to its certificate, which comes within hours mostly. */
const keptS = { certificate: 86_400, precertificate: 300 } as const;

export interface CachingHeaders {
  readonly etag: string;
  readonly 'cache-control': string;
}

/** @param form in which it is sent: each has a tag of its own */
export function cachingHeaders(
  { sha256, precertificate }: Certificate,
  form: string,
): CachingHeaders & Record<string, string> {
  const seconds = precertificate ? keptS.precertificate : keptS.certificate;
  return { etag: `"${sha256.toString('hex')}.${form}"`, 'cache-control': `public, max-age=${seconds}` };
}

/** RFC 9110, section 13.1.2: the weak comparison. @param ifNoneMatch a list of tags, or `*` */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
