import { mayBeOneCustomers } from './zone-choice';
import { readIssueValue } from './issue-value';
import { othersLabels } from './others-labels';
import { readRecordName } from './record-name';
import type { UnderscoredNames } from './underscored-names';

/** A CA that the operator orders from. */
export interface CaaIssuer {
  /** The CA's issuer domain name, lower case. */
  readonly issuer: string;
  /** The operator's accounts there. If there are any, a record must name one of them; otherwise it may name none. */
  readonly accountUris: readonly string[];
}

/** Format of the text of a TXT record that no standard defines. */
export interface TxtShapes {
  /** At an unregistered underscored label: an optional prefix, this many of `A-Z a-z 0-9 _ -`, at most two `=`. */
  readonly tokenLength: { readonly min: number; readonly max: number };
  /** Allowed prefixes of a token, such as a CA's `ca-check=`. */
  readonly tokenPrefixes: readonly string[];
  /** At a name without an underscore: allowed numbers of base64url characters. Empty: no TXT record there. */
  readonly bareLengths: readonly number[];
}

/** What the operator allows `add_record` to do. Created and checked by `recordRules`. */
export interface RecordRules {
  readonly underscoredNames: UnderscoredNames;
  /** Targets of CNAME and NS must be strictly below one of these. Empty: no CNAME and no NS. */
  readonly approvalZones: readonly string[];
  /** CAs that CAA and `_validation-persist` records may name. Empty: none of either. */
  readonly caaIssuers: readonly CaaIssuer[];
  readonly txtShapes: TxtShapes;
  /** Labels that other services read: see `othersLabels`. An asterisk matches anything; without underscores. */
  readonly othersLabels: readonly string[];
  /**
   * The only underscored labels besides `_acme-challenge` and `_validation-persist`; null: every unregistered one.
   */
  readonly ownLabels: readonly string[] | null;
  /** Ids of integrations that may add TXT and CAA records at the apex of their zones. Empty: none. */
  readonly apexIntegrations: readonly string[];
  /** False: only the rule on types and names applies, and a caller may write any value. */
  readonly valuePolicy: boolean;
}

/** Injection token. */
export const RecordRules = Symbol('RecordRules');

/** A SHA-256 digest in base64url, as a dns-01 response is (RFC 8555, section 8.4) and as acme-dns takes it. */
export const digestLength = 43;

export const defaultTxtShapes: TxtShapes = {
  tokenLength: { min: 20, max: 128 },
  tokenPrefixes: [],
  bareLengths: [digestLength],
};

/**
 * The rules of a deployment. Omitted members have defaults that do not depend on the operator's zones or CAs.
 *
 * @throws Error that names the invalid member
 */
export function recordRules(
  wanted: Partial<RecordRules> & Pick<RecordRules, 'underscoredNames'>,
): RecordRules {
  const shapes = wanted.txtShapes ?? defaultTxtShapes;
  const { min, max } = shapes.tokenLength;
  // Below 16 characters a "token" may be a word with a meaning elsewhere; 512 is the max length of a value.
  if (!(Number.isInteger(min) && Number.isInteger(max) && 16 <= min && min <= max && max <= 512))
    throw new Error('tokenLength: from 16 to 512.');
  if (!shapes.tokenPrefixes.every((prefix) => /^[!-~]{1,64}$/.test(prefix)))
    throw new Error('tokenPrefixes: 1 to 64 printable characters each.');
  if (!shapes.bareLengths.every((length) => Number.isInteger(length) && length >= 22 && length <= 512))
    throw new Error('bareLengths: from 22, which is 128 bits, to 512.');
  return {
    underscoredNames: wanted.underscoredNames,
    approvalZones: (wanted.approvalZones ?? []).map(approvalZone),
    caaIssuers: wanted.caaIssuers ?? [],
    txtShapes: shapes,
    othersLabels: wanted.othersLabels ?? othersLabels,
    ownLabels: wanted.ownLabels?.map(ownLabel) ?? null,
    apexIntegrations: wanted.apexIntegrations ?? [],
    valuePolicy: wanted.valuePolicy ?? true,
  };
}

function approvalZone(text: string): string {
  const read = readRecordName(text);
  if (!read.ok) throw new Error(`approvalZones: the name ${read.reason}.`);
  if (!mayBeOneCustomers(read.name)) throw new Error(`approvalZones: ${read.name} is a public suffix.`);
  return read.name;
}

function ownLabel(text: string): string {
  const read = readRecordName(text);
  if (!read.ok || read.name.includes('.') || !read.name.startsWith('_'))
    throw new Error('ownLabels: each is one label that starts with an underscore.');
  return read.name;
}

/**
 * Reads the operator's CAs in CAA syntax: `letsencrypt.org; accounturi=https://…/acct/1`. Several entries of one
 * issuer are several accounts there.
 *
 * @throws Error that repeats the entry
 */
export function readCaaIssuers(entries: readonly string[]): readonly CaaIssuer[] {
  const accounts = new Map<string, string[]>();
  for (const entry of entries) {
    const read = readIssueValue(entry);
    const uri = read?.parameters.get('accounturi');
    const others = (read?.parameters.size ?? 0) - (uri === undefined ? 0 : 1);
    if (read === undefined || read.issuer === '' || others > 0 || uri === '')
      throw new Error(`${JSON.stringify(entry)} is not an issuer with at most an accounturi.`);
    const known = accounts.get(read.issuer) ?? [];
    accounts.set(read.issuer, uri === undefined ? known : [...known, uri]);
  }
  return [...accounts].map(([issuer, accountUris]) => ({ issuer, accountUris }));
}
