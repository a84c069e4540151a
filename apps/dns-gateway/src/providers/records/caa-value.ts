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

/** Reads `0 issue "ca.example"`, with or without quotes. Null when it is no CAA value. */
export function parseCaa(text: string): CaaValue | null {
  const [, flags, tag, rest] = /^\s*(\d{1,3})\s+([a-z0-9]+)\s+([^]*?)\s*$/i.exec(text) ?? [];
  if (flags === undefined || tag === undefined || rest === undefined || Number(flags) > 255) return null;
  // Unquoted, the value may hold spaces, semicolons and equal signs all the same.
  const value = rest.startsWith('"') ? unquotedTxt(rest) : rest;
  return value === null ? null : { flags: Number(flags), tag: tag.toLowerCase(), value };
}

/** `0 issue "ca.example"`: the normal form of the contract, and presentation format as well. */
export const formatCaa = ({ flags, tag, value }: CaaValue): string =>
  `${flags} ${tag.toLowerCase()} ${quotedString(value)}`;
