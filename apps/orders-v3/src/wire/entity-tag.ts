import { createHash } from 'node:crypto';
import { Problem } from '@certwright/errors';

/** An order's entity tag is its revision: it changes with what the caller can modify. */
export function entityTag(revision: number): string {
  return `"${revision}"`;
}

/** For an object without a revision: changes with everything that a response shows of it. */
export function contentTag(shown: object): string {
  return `"${createHash('sha256').update(JSON.stringify(shown)).digest('base64url').slice(0, 22)}"`;
}

/** The condition of `If-Match`, checked before anything is done to the object of the entity tag. */
export type Precondition = (tag: string) => boolean;

/** entity-tag, RFC 9110, section 8.8.3. */
const entityTags = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/**
 * RFC 9110, section 13.1.1. The comparison is the strong one, so a weak tag never matches. A value that is neither `*`
 * nor a list of tags states no precondition that could hold or fail: the request is refused.
 *
 * @throws Problem `invalid_value` on `If-Match`
 */
export function readIfMatch(value: string | undefined): Precondition {
  if (value === undefined || value.trim() === '*') return () => true;
  const tags = new Set(value.match(entityTags));
  const isList = tags.size > 0 && /^[ \t,]*$/.test(value.replace(entityTags, ''));
  if (!isList) {
    throw new Problem(
      'invalid_value',
      'If-Match must be * or a list of entity tags, such as "3" with its quotes.',
      {
        field: 'If-Match',
      },
    );
  }
  return (tag) => tags.has(tag);
}

export function assertMatches(precondition: Precondition, revision: number): void {
  if (precondition(entityTag(revision))) return;
  throw new Problem('revision_mismatch', `The order has been modified: its revision is ${revision} now.`);
}
