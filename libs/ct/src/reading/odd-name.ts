/**
 * Stands for a label that has control characters or is no IDN, and for what a name has too many of. No label that
 * a query may have is equal to it.
 */
const unparsableLabel = '<unparsable>';

/** Characters of an odd name that are kept: four times as many as a name may have. */
const maxOddNameLength = 1024;

/**
 * The last two labels, with the dot before them: nothing below less than that is searched. An asterisk without a dot
 * may be before them.
 */
const searchableEnd = /\.\*?[a-z0-9_-]{1,63}\.(?![0-9]+$)[a-z0-9_-]{1,63}$/;
const maxEndLength = 129;

/**
 * What monitors show of a text that is no DNS name but ends like one: `foo bar.example.com`, `*.?.example.com`,
 * names and labels that are too long. Each label that is printable ASCII stays what it is.
 *
 * @param text in lower case, without dots at its ends
 * @param asciiLabel the A-label of a label with other characters than ASCII; undefined: it has none
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
