import type { RecordType } from '@certwright/gateway-contract';
import type { DnsRecord } from '../dns-provider';
import { formatCaa, parseCaa } from './caa-value';
import { absolute, normalName } from './names';
import { type EscapeBase, quotedTxt, unquotedTxt } from './txt-value';

/** The value for an API with master file format (RFC 1035, section 5.1): absolute targets, TXT in quotes. */
export function presentationOf(
  record: Pick<DnsRecord, 'type' | 'value'>,
  base: EscapeBase = 'decimal',
): string {
  const { type, value } = record;
  if (type === 'TXT') return quotedTxt(value, base);
  if (type === 'CAA') return normalCaa(value);
  return absolute(value);
}

/** Converts to the contract's normal form. An unreadable value stays unchanged and equals none of ours. */
export function normalValue(type: RecordType, presentation: string, base: EscapeBase = 'decimal'): string {
  if (type === 'TXT') return unquotedTxt(presentation, base) ?? presentation;
  if (type === 'CAA') return normalCaa(presentation);
  return normalName(presentation);
}

export function normalCaa(text: string): string {
  const caa = parseCaa(text);
  return caa === null ? text : formatCaa(caa);
}
