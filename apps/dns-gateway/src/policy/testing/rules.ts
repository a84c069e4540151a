import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Zone } from '@certwright/gateway-contract';
import {
  type AllowedRecord,
  type RequestedRecord,
  checkRecord,
  placeRecord,
  type RefusedRecord,
} from '../record-policy';
import { readCaaIssuers, recordRules, type RecordRules } from '../record-rules';
import { loadUnderscoredNames } from '../underscored-names';

export const accountUri = 'https://ca.example/acme/acct/7';

export const underscoredNames = loadUnderscoredNames(
  readFileSync(path.join(__dirname, '../../../data/underscored-names.csv'), 'utf8'),
);

/** As an operator configures it: one approval zone, one CA with an account, one without. */
export const rules = recordRules({
  underscoredNames,
  approvalZones: ['approval.example.net'],
  caaIssuers: readCaaIssuers([`ca.example; accounturi=${accountUri}`, 'plain-ca.example']),
});

export const zone = (name: string): Zone => ({ id: `id of ${name}`, name });
export const zones = [zone('example.com'), zone('deep.example.com'), zone('example.org')];

/** 43 base64url characters, as a dns-01 digest. */
export const digest = 'LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ';

/** An allowed record, except for the members that a row changes. */
export const wants = (changes: Partial<RequestedRecord> = {}): RequestedRecord => ({
  fqdn: '_acme-challenge.www.example.com',
  type: 'TXT',
  value: digest,
  ...changes,
});

/** The complete decision for an integration with these zones. */
export function decideRecord(
  wanted: RequestedRecord,
  ofIntegration: readonly Zone[],
  own: RecordRules,
): AllowedRecord | RefusedRecord {
  const checked = checkRecord(wanted, own);
  return checked.allowed ? placeRecord(checked, ofIntegration, false) : checked;
}

/** In one line: `add <fqdn> <type> <value>` in a zone, or code and field of the refusal. */
export function verdict(
  changes: Partial<RequestedRecord>,
  own: Partial<RecordRules> = {},
  ofIntegration: readonly Zone[] = zones,
): string {
  const decision = decideRecord(wants(changes), ofIntegration, { ...rules, ...own });
  if (!decision.allowed) return `${decision.code} ${decision.field}`;
  const { zone: chosen, record, mode } = decision;
  return `${mode} ${record.fqdn} ${record.type} ${record.value} in ${chosen.name}`;
}
