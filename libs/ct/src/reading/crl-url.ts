import type { DerCursor, DerSpan } from './der-cursor';

/** Max bytes of a URL; those of public CAs have fifty. */
const maxUrlLength = 1_024;

/** Max bytes of the extension: several distribution points, some of them LDAP with long names. */
const maxExtensionLength = 2 * 1_024;

/** RFC 5280, section 4.2.1.13: DistributionPoint and DistributionPointName, and the URI of a GeneralName. */
const tags: Readonly<Record<'distributionPoint' | 'reasons' | 'crlIssuer' | 'fullName' | 'uri', number>> = {
  distributionPoint: 0xa0,
  reasons: 0x81,
  crlIssuer: 0xa2,
  fullName: 0xa0,
  uri: 0x86,
};

/** Cached results by the extension's bytes: a CA uses the same ones in millions of certificates. */
let known = new Map<string, string | null>();
const maxKnown = 2_048;

/**
 * The first URI with http or https of a distribution point for all reasons whose list the certificate's own issuer signs; null:
 * there is none.
 *
 * @param value of the extension
 */
export function readCrlUrl(cursor: DerCursor, value: DerSpan | null): string | null {
  if (value === null || value.end - value.start > maxExtensionLength) return null;
  const key = cursor.bytes.toString('latin1', value.start, value.end);
  const before = known.get(key);
  if (before !== undefined) return before;
  const url = findUrl(cursor, value);
  if (known.size >= maxKnown) known = new Map();
  known.set(key, url);
  return url;
}

function findUrl(cursor: DerCursor, value: DerSpan): string | null {
  for (let at = value.start; cursor.moveTo(at, value.end);) {
    const { start, end } = cursor;
    at = cursor.next;
    const name = nameOfWhole(cursor, start, end);
    const url = name === null ? null : firstUrl(cursor, name);
    if (url !== null) return url;
  }
  return null;
}

/** Null for a point with only some reasons, or with lists of another signer. */
function nameOfWhole(cursor: DerCursor, start: number, limit: number): DerSpan | null {
  let name: DerSpan | null = null;
  for (let at = start; cursor.moveTo(at, limit); at = cursor.next) {
    if (cursor.tag === tags.reasons || cursor.tag === tags.crlIssuer) return null;
    if (cursor.tag === tags.distributionPoint) name ??= cursor.span();
  }
  return name;
}

function firstUrl(cursor: DerCursor, name: DerSpan): string | null {
  if (!cursor.moveTo(name.start, name.end) || cursor.tag !== tags.fullName) return null;
  const { start, end: limit } = cursor;
  for (let at = start; cursor.moveTo(at, limit); at = cursor.next) {
    if (cursor.tag !== tags.uri || cursor.end - cursor.start > maxUrlLength) continue;
    const text = cursor.bytes.toString('latin1', cursor.start, cursor.end).trim();
    if (/^https?:\/\/[\x21-\x7e]+$/i.test(text) && URL.canParse(text) && isAnonymous(new URL(text)))
      return text;
  }
  return null;
}

/** Rejects URLs with credentials, which a hostile certificate could contain. */
function isAnonymous({ username, password }: URL): boolean {
  return username === '' && password === '';
}
