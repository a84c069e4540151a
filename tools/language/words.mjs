// @ts-check
// Words that hide who does what, and the lines of a text that use them. CONTRIBUTING.md says what to write instead.

const WORDS = `octets?|whoever|nobody|anew|stands|told|asks|wishes|mend(?:s|ed|ing)?|judg(?:es?|ed|ing)|stumbled`; // language: the list
const MORE_WORDS = `hasten(?:s|ed|ing)?|away|nudg(?:es?|ed|ing)`; // language: the list

/** ASN.1's OCTET STRING, the media type application/octet-stream and PostgreSQL's octet_length are names, not our words. */
const NAMES = /\boctet(?:[ _-]?)(?:string|stream|length)/g; // language: names of ASN.1, HTTP and PostgreSQL

const WORD = new RegExp(`(?<![a-z])(?:${WORDS}|${MORE_WORDS})(?![a-z])`, 'g');

/** In a comment on the line: why the word stays, such as a quoted RFC. */
const ALLOWED = /(?:\/\/|\/?\*|<!--|#).*\blanguage: \S/;

/**
 * Comments, strings and names alike: `approvalNudges` and `approval_nudges` contain a listed word. // language: example
 *
 * @param {string} text of a source file or a document
 * @returns {readonly { line: number, word: string, text: string }[]} in the order of the text; lines count from 1
 */
export function listedWords(text) {
  return text.split('\n').flatMap((line, index) => {
    if (ALLOWED.test(line)) return [];
    const words = line
      .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .replace(NAMES, '');
    return [...words.matchAll(WORD)].map(([word]) => ({ line: index + 1, word, text: line.trim() }));
  });
}
