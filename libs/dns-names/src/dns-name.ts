import type { FieldFaultCode } from '@certwright/errors';
import { baseName, publicSuffixPlace } from './domain-tree';
import { type LabelRules, normalLabel } from './label';
import { quoteInput } from './quote-input';
import { specialUseOf } from './special-use';

/** RFC 1035, section 2.3.4: 255 bytes on the wire are 253 characters of text without the trailing dot. */
const maxNameLength = 253;

/**
 * Maximum length of the input. A U-label may be longer in UTF-16 units than its A-label in bytes, at most twice: a
 * code point outside the BMP takes two units and at least one byte. One more for the trailing dot.
 */
const maxInputLength = 2 * maxNameLength + 1;

export type DnsNameFaultCode = FieldFaultCode & ('invalid_dns_name' | 'not_public_domain');

export type ParsedDnsName =
  | { readonly ok: true; readonly name: string }
  | { readonly ok: false; readonly code: DnsNameFaultCode; readonly message: string };

/**
 * Reads a name that a certificate may carry (Baseline Requirements, section 7.1.2.7.12). Normal form: lower-case
 * A-labels, no trailing dot, at most one leftmost `*.`. The name is beneath a public suffix, and so is everything a
 * wildcard covers; it is not reserved for special use (RFC 6761), for which no supported public CA may issue.
 */
export function parseDnsName(input: unknown): ParsedDnsName {
  const parsed = parsePublicName(input);
  const reserved = parsed.ok ? specialUseOf(baseName(parsed.name)) : undefined;
  if (reserved === undefined) return parsed;
  return notPublic(input, `names under ${reserved.suffix} are reserved for special use (${reserved.source})`);
}

/** As `parseDnsName`, but accepts reserved names: certificates for .onion names exist and can be searched for. */
export function parsePublicName(input: unknown): ParsedDnsName {
  const read = readName(input);
  if (!read.ok) return invalid(input, read.reason);
  const reason = reasonNotPublic(read);
  return reason === undefined ? { ok: true, name: read.name } : notPublic(input, reason);
}

/** A name in normal form, public or not. */
export interface NormalName {
  readonly ok: true;
  readonly name: string;
  /** `name` without `*.` */
  readonly base: string;
  readonly isWildcard: boolean;
}

/** @returns for text that is not a name, the reason */
export function readName(
  input: unknown,
  labels: LabelRules = {},
): NormalName | { readonly ok: false; readonly reason: string } {
  const refused = (reason: string) => ({ ok: false, reason }) as const;
  if (typeof input !== 'string') return refused('a DNS name is a string');
  if (input.length > maxInputLength) return refused(`it is longer than ${maxNameLength} bytes`);
  const unreadable = unreadableIn(input);
  if (unreadable !== undefined) return refused(unreadable);

  const absolute = input.endsWith('.') ? input.slice(0, -1) : input;
  const isWildcard = absolute.startsWith('*.');
  const normalLabels: string[] = [];
  for (const label of (isWildcard ? absolute.slice(2) : absolute).split('.')) {
    const normal = normalLabel(label, labels);
    if (!normal.ok) return refused(`the label ${quoteInput(label)} ${normal.reason}`);
    normalLabels.push(normal.label);
  }
  if (isNumeric(normalLabels.at(-1) ?? '')) return refused('it is an IP address or ends in a number');
  const base = normalLabels.join('.');
  const name = isWildcard ? `*.${base}` : base;
  if (name.length > maxNameLength) return refused(`it is longer than ${maxNameLength} bytes`);
  return { ok: true, name, base, isWildcard };
}

/** Why a name is not beneath a public suffix; undefined for one that is. */
export function reasonNotPublic({ base, isWildcard }: NormalName): string | undefined {
  const { listed, registeredDomain } = publicSuffixPlace(base);
  if (!listed) return 'it is not beneath any public suffix';
  if (registeredDomain !== null) return undefined;
  if (isWildcard) return `a wildcard may not stand right beneath the public suffix ${base}`;
  return 'it is itself a public suffix, which many parties register names under';
}

/** Matches nearly every name, and nothing that `unreadableIn` refuses. */
const plainName = /^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*$/;

/** Why the text is not a name at all; checked before it is split into labels. */
function unreadableIn(input: string): string | undefined {
  if (plainName.test(input)) return undefined;
  if (input === '' || input === '.') return 'it is empty';
  // PostgreSQL stores a lone surrogate as U+FFFD, so different names would collide.
  if (/\p{Surrogate}/u.test(input)) return 'it is not well-formed Unicode';
  if (/[\p{Cc}\p{Z}]/u.test(input)) return 'it has white space or control characters';
  if (/[\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(input)) return 'it has invisible characters';
  if (/[\u3002\uff0e\uff61\u2024\ufe52]/.test(input))
    return 'its labels are not separated by the ASCII full stop';
  if (/[:[\]]/.test(input)) return 'it is an IPv6 address or has a port or scheme';
  if (input.indexOf('*', input.startsWith('*.') ? 1 : 0) !== -1) {
    return 'an asterisk may only be the whole leftmost label, once';
  }
  return undefined;
}

/** The last label decides whether a host is an IPv4 address, in any spelling (URL Standard, "ends in a number checker"). */
function isNumeric(label: string): boolean {
  return /^(?:[0-9]+|0x[0-9a-f]*)$/.test(label);
}

function invalid(input: unknown, reason: string): ParsedDnsName {
  return {
    ok: false,
    code: 'invalid_dns_name',
    message: `${quoteInput(input)} is not a valid DNS name: ${reason}.`,
  };
}

function notPublic(input: unknown, reason: string): ParsedDnsName {
  return {
    ok: false,
    code: 'not_public_domain',
    message: `${quoteInput(input)} cannot be certified: ${reason}.`,
  };
}

export interface DnsNameListFault {
  /** Index in the given list. */
  readonly index: number;
  readonly input: unknown;
  readonly code: DnsNameFaultCode;
  /** Safe to show: quotes the input escaped and truncated. */
  readonly message: string;
}

export interface ParsedDnsNames {
  /** In the order given, each name once. */
  readonly names: readonly string[];
  readonly faults: readonly DnsNameListFault[];
}

/** Reads every entry and reports every invalid one. The caller limits the number of entries first. */
export function parseDnsNames(list: readonly unknown[]): ParsedDnsNames {
  const names = new Set<string>();
  const faults: DnsNameListFault[] = [];
  list.forEach((input, index) => {
    const parsed = parseDnsName(input);
    if (parsed.ok) names.add(parsed.name);
    else faults.push({ index, input, code: parsed.code, message: parsed.message });
  });
  return { names: [...names], faults };
}
