/** Max graphemes of foreign text, in a body and in a subject line. */
const maxQuotedLength = 255;
const maxSubjectLength = 60;

/**
 * Characters of foreign text that must not enter a mail: line ends and other controls, and characters that change the
 * direction of the following text or hide it (Unicode categories Cc and Zl, Zp, bidi controls, invisible operators,
 * tags). Joiners are kept: emoji and several scripts need them.
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

/** First strong isolate, pop directional isolate: the surrounding sentence keeps its order (UAX #9). */
const isolate = (text: string): string => `\u2068${text}\u2069`;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Removes unwanted characters, and limits the length. */
export function cleaned(text: string, maxLength = maxQuotedLength): string {
  const clean = text.toWellFormed().replace(unwanted, '\ufffd').trim();
  // A grapheme may be long itself: so the bytes are limited as well.
  const kept = [...graphemes.segment(clean.slice(0, 16 * maxLength))].map(({ segment }) => segment);
  if (kept.length <= maxLength) return kept.join('');
  return `${kept.slice(0, maxLength - 1).join('')}…`;
}

/** For plain text, where only isolation keeps a right-to-left name from reordering the surrounding sentence. */
export function isolated(text: string, maxLength = maxQuotedLength): string {
  const clean = cleaned(text, maxLength);
  return rightToLeft.test(clean) ? isolate(clean) : clean;
}

/**
 * A literal encoded word (RFC 2047 §2) in the text would be decoded by the mail reader, and bring back the removed
 * characters: an invisible joiner inside prevents decoding.
 */
const withoutEncodedWords = (text: string): string => text.replaceAll('=?', '=\u2060?');

export const inSubject = (text: string): string => withoutEncodedWords(isolated(text, maxSubjectLength));
