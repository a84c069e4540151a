/** Graphemes of a text that others chose, in a body and in a subject line. */
const longestQuoted = 255;
const longestInSubject = 60;

/**
 * What a text of somebody else must not bring into a mail: line ends and other controls, and the characters that turn
 * the direction of what follows or hide it (Unicode categories Cc and Zl, Zp, bidi controls, invisible operators, tags).
 * The joiners stay: emoji and several scripts need them.
 */
const unwanted = new RegExp(
  [
    '[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Cs}]',
    '[\\u061c\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]',
    '[\\u{e0000}-\\u{e0fff}]',
  ].join('|'),
  'gu',
);

/** Letters that are written from right to left (Bidi_Class R and AL, by block). */
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** First strong isolate, pop directional isolate: the sentence around keeps its order (UAX #9). */
const isolate = (text: string): string => `\u2068${text}\u2069`;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Without what is unwanted, and not too long. */
export function cleaned(text: string, longest = longestQuoted): string {
  const clean = text.toWellFormed().replace(unwanted, '\ufffd').trim();
  // Each grapheme may be long itself: so the octets are bounded as well.
  const kept = [...graphemes.segment(clean.slice(0, 16 * longest))].map(({ segment }) => segment);
  if (kept.length <= longest) return kept.join('');
  return `${kept.slice(0, longest - 1).join('')}…`;
}

/** For plain text, where nothing else keeps a right-to-left name from turning the sentence around it. */
export function isolated(text: string, longest = longestQuoted): string {
  const clean = cleaned(text, longest);
  return rightToLeft.test(clean) ? isolate(clean) : clean;
}

/**
 * An encoded word (RFC 2047 §2) that stands in the text itself would be decoded by whoever reads the header, and bring in
 * what was cleaned away: an invisible joiner inside keeps it what it looks like.
 */
const withoutEncodedWords = (text: string): string => text.replaceAll('=?', '=\u2060?');

export const inSubject = (text: string): string => withoutEncodedWords(isolated(text, longestInSubject));
