import type { ApiPropertyOptions } from '@nestjs/swagger';

export const instant: ApiPropertyOptions = { type: String, format: 'date-time' };
export const sha256: ApiPropertyOptions = { type: String, pattern: '^[0-9a-f]{64}$' };
export const port = { type: 'integer', minimum: 1, maximum: 65_535 } as const;

/** Max characters of a text that servers choose. */
const maxText = 255;

/** Those that fit, and at least one. */
export function firstTexts(texts: readonly string[], maxCharacters: number): readonly string[] {
  let characters = 0;
  const shown = texts.map(cut);
  const end = shown.findIndex((text, at) => (characters += text.length) > maxCharacters && at > 0);
  return end === -1 ? shown : shown.slice(0, end);
}

export const cut = (text: string): string => text.slice(0, maxText);

/** RFC 3339, UTC, without fractions. @param at a string is one of `toISOString`, as stored in JSON */
export const timestamp = (at: Date | string): string =>
  `${(typeof at === 'string' ? at : at.toISOString()).slice(0, 19)}Z`;
