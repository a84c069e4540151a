import { containsPrivateKey, holdsPrivateKey } from '@certwright/errors';

/** Maximum quoted length of an input: enough to find the entry, too short to fill a log. */
const maxExcerptLength = 80;

/** A DNS name or an email address, valid or not: `private-key.example.com` only mentions a key. */
const nameLike = /^[\p{L}\p{M}\p{N}._*@-]{1,255}$/u;

/** Anything that could change how a log line or a terminal shows the message: controls, invisible and format characters. */
const unsafe =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}"\\]|(?! )\p{Zs}/gu;

/**
 * Quotes a caller's input for messages: truncated, with invisible characters escaped, and without a private key that
 * was pasted into the wrong field.
 */
export function quoteInput(input: unknown): string {
  if (typeof input !== 'string') return input === null ? 'null' : `a value of type ${typeof input}`;
  if (nameLike.test(input) ? holdsPrivateKey(input) : containsPrivateKey(input))
    return 'a private key (not repeated here; consider it exposed and replace it)';
  // A lone surrogate left by the cut is escaped.
  const excerpt = input.slice(0, maxExcerptLength);
  const escaped = excerpt.replace(
    unsafe,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return `"${escaped}${input.length > maxExcerptLength ? '…' : ''}"`;
}
