import { Unreadable } from '@certwright/service';
import { Argument, JsonArgument, readFlag, type Reading, type Sent, unreadable } from '../wire/arguments';
import { Refusal } from '../wire/reasons';

/** Tags of one object. */
export const maxTags = 50;

/** Unicode code points of a tag. */
const maxTagLength = 100;

/** Characters of an argument's name that an error repeats; the name of a tag can be as long as the body. */
const maxNameLength = 100;

const prefix = 'tags.';

/** All tags of an object. */
export const TagsArgument = () =>
  JsonArgument(
    {
      anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }],
      description: 'In a form: JSON.',
    },
    'bad_tags',
    readAll,
  );

function readAll(list: unknown): Reading<readonly string[]> {
  if (!Array.isArray(list)) return badTags('tags must be an array of strings.');
  if (list.length > 10 * maxTags) return badTags(tooMany);
  for (const tag of list as unknown[]) {
    const fault = typeof tag === 'string' ? faultOf(tag) : 'is not a string';
    if (fault !== null) return badTags(`tags has a tag that ${fault}.`);
  }
  return list as string[];
}

/** `tags.NAME`, each of which adds or removes one tag; undefined: none. */
export function singleTags(given: Sent): Sent | undefined {
  const single = Object.entries(given).filter(([name]) => name.startsWith(prefix));
  return single.length === 0 ? undefined : Object.fromEntries(single);
}

/** Result of `singleTags`. */
export const SingleTagsArgument = () =>
  Argument(
    { type: String, enum: ['0', '1'], description: '1 adds the tag TAGNAME, 0 removes it.' },
    (value) => (value === undefined ? undefined : readSingle(value as Sent)),
  );

function readSingle(given: Sent): Reading<ReadonlyMap<string, boolean>> {
  const single = new Map<string, boolean>();
  for (const [name, value] of Object.entries(given)) {
    const shown = name.slice(0, maxNameLength).toWellFormed();
    const added = readFlag(value, shown);
    if (added === undefined) continue;
    const tag = name.slice(prefix.length);
    const fault = faultOf(tag);
    const bad = fault === null ? added : unreadable('bad_tags', `${shown} names a tag that ${fault}.`);
    if (bad instanceof Unreadable)
      return new Unreadable(bad.faults.map((each) => ({ ...each, field: shown })));
    single.set(tag, bad);
  }
  return single;
}

/**
 * Each tag once, at its first position; single ones that are added come last.
 *
 * @param all undefined: those that the object has
 * @throws Refusal `bad_tags` when there are too many
 */
export function modifiedTags(
  before: readonly string[],
  all: readonly string[] | undefined,
  single: ReadonlyMap<string, boolean> = new Map(),
): readonly string[] {
  const tags = new Set(all ?? before);
  for (const [tag, added] of single) {
    if (added) tags.add(tag);
    else tags.delete(tag);
  }
  if (tags.size > maxTags) throw new Refusal('bad_tags', tooMany, { param: 'tags' });
  return [...tags];
}

/** @returns the violation, to follow "a tag that"; null: none */
function faultOf(tag: string): string | null {
  if (tag === '') return 'is empty';
  // Before iterating: a code point has at most two UTF-16 units.
  if (tag.length > 2 * maxTagLength || [...tag].length > maxTagLength)
    return `is longer than ${maxTagLength} characters`;
  return /\p{Cc}/u.test(tag) ? 'has control characters' : null;
}

const tooMany = `An object has at most ${maxTags} tags.`;

const badTags = (message: string) => unreadable('bad_tags', message);
