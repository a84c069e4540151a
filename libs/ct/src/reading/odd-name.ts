/**
 * Replaces a label that has control characters or is an invalid IDN, and the excess part of a name. It never
 * equals a label of a query.
 */
const unparsableLabel = '<unparsable>';

/** Max characters of an odd name that are kept: four times the max of a name. */
const maxOddNameLength = 1024;

/**
 * The last two labels, with the dot before them: the minimum of a searched name. An asterisk without a dot
 * may precede them.
 */
const searchableEnd = /\.\*?[a-z0-9_-]{1,63}\.(?![0-9]+$)[a-z0-9_-]{1,63}$/;
const maxEndLength = 129;

/**
 * The displayed form of a text that is not a DNS name but ends like one: `foo bar.example.com`, `*.?.example.com`,
 * names and labels that are too long. Labels in printable ASCII are unchanged.
 *
 * @param text in lower case, without dots at its ends
 * @param asciiLabel returns the A-label of a label with non-ASCII characters; undefined: it has none
 * @returns undefined when its last two labels are not those of a domain
 */
export function oddName(text: string, asciiLabel: (label: string) => string | undefined): string | undefined {
  const name = isPrintable(text)
    ? text
    : text
        .split('.')
        .map((label) => (isPrintable(label) ? label : printableLabel(label, asciiLabel)))
        .join('.');
  if (!searchableEnd.test(name.slice(-maxEndLength))) return undefined;
  if (name.length <= maxOddNameLength) return name;
  return unparsableLabel + name.slice(name.indexOf('.', name.length - maxOddNameLength));
}

function printableLabel(label: string, asciiLabel: (label: string) => string | undefined): string {
  return (/[^\0-\x7f]/.test(label) ? asciiLabel(label) : undefined) ?? unparsableLabel;
}

function isPrintable(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}
