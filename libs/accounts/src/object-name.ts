/** Unicode code points. */
const maxNameLength = 255;

/**
 * The name of an order or a cluster is a name for people, in URLs and file names; it need not be a DNS name. A lone surrogate is kept from
 * PostgreSQL, which would store U+FFFD in its place and so make different names collide; "." and ".." vanish from URLs.
 *
 * @returns why the text is no such name, in words that follow "the name"; null when it is one
 */
export function objectNameFault(name: string): string | null {
  if (name === '') return 'is empty';
  // Before anything walks over it: a code point takes at most two UTF-16 units.
  if (name.length > 2 * maxNameLength || [...name].length > maxNameLength)
    return `is longer than ${maxNameLength} characters`;
  if (!name.isWellFormed()) return 'is not well-formed Unicode';
  if (/\p{Cc}/u.test(name)) return 'has control characters';
  if (!/[^\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(name)) return 'has no visible character';
  if (name === '.' || name === '..') return 'is "." or "..", which URLs drop';
  return null;
}
