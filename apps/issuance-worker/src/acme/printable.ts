/** Characters of a CA's explanation that are kept; what they write is a sentence or two. */
const longestText = 500;

/**
 * What the other side wrote, fit for a log and a customer's eyes: letters, digits, punctuation and symbols. Control,
 * format (among them those that turn the direction of writing) and unassigned characters become blanks.
 */
export function printable(text: string, maxCharacters = longestText): string {
  // Cut first, so that a megabyte is not looked at; a surrogate cut in half becomes a blank.
  const clean = text
    .slice(0, maxCharacters)
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]+/gu, ' ')
    .trim();
  return text.length > maxCharacters ? `${clean}…` : clean;
}
