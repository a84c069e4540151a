import { type Arguments, badParam } from '../wire/arguments';
import type { Refusal } from '../wire/reasons';

/** Tags of one object. */
export const mostTags = 50;

/** Unicode code points of a tag. */
export const longestTag = 100;

/** What a request says about tags: all of them, single ones, or both. */
export interface TagWishes {
  /** Undefined: those that the object has. */
  readonly all: readonly string[] | undefined;
  /** Tag → whether it is added; by the arguments `tags.NAME`. */
  readonly single: ReadonlyMap<string, boolean>;
}

const prefix = 'tags.';

/** @throws Refusal `bad_tags`, and `bad_param` for `tags.NAME` that is neither 1 nor 0 */
export function readTags(given: Arguments): TagWishes {
  const single = new Map<string, boolean>();
  for (const name of given.names().filter((each) => each.startsWith(prefix))) {
    const added = given.boolean(name);
    if (added === undefined) continue;
    const tag = name.slice(prefix.length);
    const fault = tagFault(tag);
    if (fault !== null) throw badParam(name, 'bad_tags', `names a tag that ${fault}.`);
    single.set(tag, added);
  }
  return { all: readAll(given), single };
}

function readAll(given: Arguments): readonly string[] | undefined {
  if (!given.has('tags')) return undefined;
  const list = given.json('tags', 'bad_tags');
  if (!Array.isArray(list)) throw badTags('must be an array of texts.');
  if (list.length > 10 * mostTags) throw tooMany();
  for (const tag of list as unknown[]) {
    const fault = typeof tag === 'string' ? tagFault(tag) : 'is not a text';
    if (fault !== null) throw badTags(`has a tag that ${fault}.`);
  }
  return list as string[];
}

/**
 * Each tag once, where it stood first; what is added by its name comes last.
 *
 * @throws Refusal `bad_tags` when there are too many
 */
export function modifiedTags(before: readonly string[], { all, single }: TagWishes): readonly string[] {
  const tags = new Set(all ?? before);
  for (const [tag, added] of single) {
    if (added) tags.add(tag);
    else tags.delete(tag);
  }
  if (tags.size > mostTags) throw tooMany();
  return [...tags];
}

/** @returns what is wrong with it, in words that follow "a tag that"; null: nothing */
function tagFault(tag: string): string | null {
  if (tag === '') return 'is empty';
  // Before anything walks over it: a code point takes at most two UTF-16 units.
  if (tag.length > 2 * longestTag || [...tag].length > longestTag)
    return `is longer than ${longestTag} characters`;
  return /\p{Cc}/u.test(tag) ? 'has control characters' : null;
}

function tooMany(): Refusal {
  return badTags(`are ${mostTags} at most for one object.`);
}

function badTags(what: string): Refusal {
  return badParam('tags', 'bad_tags', what);
}
