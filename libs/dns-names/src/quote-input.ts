import { containsPrivateKey } from '@certwright/errors';

/** Characters of an input that a message repeats; enough to find the entry, too few to fill a log. */
const longestExcerpt = 80;

/** Anything that could change how a log line or a terminal shows the message: controls, invisible and format characters. */
const unsafe =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}"\\]|(?! )\p{Zs}/gu;

/**
 * A caller's own input, quoted so that any message may carry it: bounded, with everything invisible escaped, and without a
 * private key that was pasted into the wrong field.
 */
export function quoteInput(input: unknown): string {
  if (typeof input !== 'string') return input === null ? 'null' : `a value of type ${typeof input}`;
  if (containsPrivateKey(input))
    return 'a private key (not repeated here; consider it exposed and replace it)';
  // A cut between two surrogates leaves a lone one, which is then escaped like any other.
  const excerpt = input.slice(0, longestExcerpt);
  const escaped = excerpt.replace(
    unsafe,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return `"${escaped}${input.length > longestExcerpt ? '…' : ''}"`;
}
