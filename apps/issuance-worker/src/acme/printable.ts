/** Max characters kept of a CA's explanation, usually a sentence or two. */
const maxTextLength = 500;

/**
 * Makes text from the server safe for logs and customers: keeps letters, digits, punctuation and symbols. Control,
 * format (including bidirectional controls) and unassigned characters become blanks.
 */
export function printable(text: string, maxCharacters = maxTextLength): string {
  // Cut first, to avoid processing a megabyte; a surrogate cut in half becomes a blank.
  const clean = text
    .slice(0, maxCharacters)
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]+/gu, ' ')
    .trim();
  return text.length > maxCharacters ? `${clean}…` : clean;
}
