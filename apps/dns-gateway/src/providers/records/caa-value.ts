import { quotedString, unquotedTxt } from './txt-value';

/** RFC 8659, section 4.1. */
export interface CaaValue {
  /** 0 to 255; 128 is "issuer critical". */
  readonly flags: number;
  /** Lower case. */
  readonly tag: string;
  /** Without quotes or escapes. */
  readonly value: string;
}

/** Reads `0 issue "ca.example"`, with or without quotes. Null when it is not a CAA value. */
export function parseCaa(text: string): CaaValue | null {
  const [, flags, tag, written] = /^\s*(\d{1,3})\s+([a-z0-9]+)\s+([^]*)$/i.exec(text) ?? [];
  if (flags === undefined || tag === undefined || written === undefined || Number(flags) > 255) return null;
  // Not by the expression, which would take quadratic time for a long run of spaces.
  const rest = written.trimEnd();
  // An unquoted value may also contain spaces, semicolons and equal signs.
  const value = rest.startsWith('"') ? unquotedTxt(rest) : rest;
  return value === null ? null : { flags: Number(flags), tag: tag.toLowerCase(), value };
}

/** `0 issue "ca.example"`: the contract's normal form, which is also presentation format. */
export const formatCaa = ({ flags, tag, value }: CaaValue): string =>
  `${flags} ${tag.toLowerCase()} ${quotedString(value)}`;
