import type { RecordType } from '@certwright/gateway-contract';
import { type IssueValue, readIssueValue, writeIssueValue } from './issue-value';
import { readRecordName } from './record-name';

/** A value in its normal form, parsed as far as the policy needs it. */
export type RecordValue =
  | { readonly type: 'TXT'; readonly text: string }
  | { readonly type: 'CNAME' | 'NS'; readonly text: string }
  | {
      readonly type: 'CAA';
      readonly text: string;
      readonly tag: 'issue' | 'issuewild';
      readonly issue: IssueValue;
    };

export type ReadValue =
  | { readonly ok: true; readonly value: RecordValue }
  /** A sentence. */
  | { readonly ok: false; readonly message: string };

/** Two strings of a TXT record; issuance never needs more. Bytes. */
const maxValueLength = 512;

export function readRecordValue(type: RecordType, input: string): ReadValue {
  if (input === '') return no('The value is empty.');
  if (/[^\x20-\x7e]/.test(input)) return no('The value has characters outside printable ASCII.');
  if (input.length > maxValueLength) return no(`The value is longer than ${maxValueLength} bytes.`);
  switch (type) {
    case 'TXT':
      return { ok: true, value: { type, text: input } };
    case 'CAA':
      return readCaa(input);
    case 'CNAME':
    case 'NS':
      return readTarget(type, input);
  }
}

function readTarget(type: 'CNAME' | 'NS', input: string): ReadValue {
  const target = readRecordName(input);
  if (!target.ok) return no(`The target of a ${type} record is a DNS name; this one ${target.reason}.`);
  return { ok: true, value: { type, text: target.name } };
}

/**
 * RFC 8659, section 4.1.1; the value in quotes, because some parsers end an unquoted one at the first space or
 * semicolon.
 */
function readCaa(input: string): ReadValue {
  const parts = /^(\d{1,3})[ \t]+([A-Za-z0-9]{1,15})[ \t]+"([^"\\]*)"$/.exec(input);
  if (parts === null)
    return no('A CAA record is written as flags, tag and quoted value: 0 issue "ca.example".');
  const [, flags = '', tagText = '', text = ''] = parts;
  // RFC 8659, section 4.1: bit 0 is "issuer critical"; the others are reserved.
  if (flags !== '0' && flags !== '128') return no('The flags of a CAA record are 0 or 128.');
  const tag = tagText.toLowerCase();
  if (tag !== 'issue' && tag !== 'issuewild') return no('The tag of a CAA record is issue or issuewild.');
  const issue = readIssueValue(text);
  if (issue === undefined) {
    return no(
      'The value of a CAA record is an issuer and parameters, each once: "ca.example; accounturi=…".',
    );
  }
  return {
    ok: true,
    value: { type: 'CAA', text: `${flags} ${tag} "${writeIssueValue(issue)}"`, tag, issue },
  };
}

function no(message: string): ReadValue {
  return { ok: false, message };
}
