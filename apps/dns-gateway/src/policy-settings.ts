import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import {
  boolean,
  filePath,
  integer,
  list,
  SettingsError,
  type SettingValues,
  string,
} from '@certwright/service';
import { othersLabels } from './policy/others-labels';
import { defaultTxtShapes, readCaaIssuers, recordRules, type RecordRules } from './policy/record-rules';
import { loadUnderscoredNames } from './policy/underscored-names';

const { tokenLength, tokenPrefixes, bareLengths } = defaultTxtShapes;
const characters = { unit: 'characters', min: 16, max: 512 };

/** What may be written into customers' zones, beyond the rule on types and names, which is not configurable. */
export const policySettings = {
  APPROVAL_ZONES: list(string({ meaning: 'A zone' }), {
    meaning:
      "The operator's zones that targets of CNAME and NS must lie in, strictly below one of them; empty: no CNAME and no NS",
    default: [],
  }),
  CAA_ISSUERS: list(string({ meaning: 'An issuer' }), {
    meaning:
      'CAs that CAA and _validation-persist records may name, each as `ca.example; accounturi=https://…`; empty: none of either',
    default: [],
  }),
  TXT_TOKEN_SHORTEST: integer({
    meaning: 'Shortest token in a TXT record',
    ...characters,
    default: tokenLength.min,
  }),
  TXT_TOKEN_LONGEST: integer({
    meaning: 'Longest token in a TXT record',
    ...characters,
    default: tokenLength.max,
  }),
  TXT_TOKEN_PREFIXES: list(string({ meaning: 'A prefix' }), {
    meaning: 'What may precede a token, such as `ca-check=`',
    default: tokenPrefixes,
  }),
  TXT_BARE_LENGTHS: list(integer({ meaning: 'A length', unit: 'characters', min: 22, max: 512 }), {
    meaning:
      'Lengths of the base64url text of a TXT record at a name without an underscore; empty: no such record',
    default: bareLengths,
  }),
  OTHERS_LABELS: list(string({ meaning: 'A label' }), {
    meaning:
      'Labels that other services read, where nothing is written; an asterisk matches anything; without underscores',
    default: othersLabels,
  }),
  OWN_LABELS: list(string({ meaning: 'A label' }), {
    meaning:
      'The only underscored labels besides _acme-challenge and _validation-persist; empty: every one that is free',
    default: [],
  }),
  APEX_INTEGRATIONS: list(string({ meaning: 'An integration id' }), {
    meaning: 'Integrations that may add TXT and CAA records at the apex of their zones; empty: none',
    default: [],
  }),
  VALUE_POLICY: boolean({
    meaning:
      'Whether values are checked; without it, an attacker who controls the backend may write any value at the allowed names',
    default: true,
  }),
  UNDERSCORED_NAMES_FILE: filePath({
    meaning: "IANA's registry of underscored names, CSV; none: the one that comes with the gateway",
    default: null,
  }),
};

/** @throws SettingsError that names the invalid setting */
export function rulesOf(values: SettingValues<typeof policySettings>): RecordRules {
  const file = values.UNDERSCORED_NAMES_FILE ?? shippedNames(__dirname);
  try {
    return recordRules({
      underscoredNames: loadUnderscoredNames(readFileSync(file, 'utf8')),
      approvalZones: values.APPROVAL_ZONES,
      caaIssuers: readCaaIssuers(values.CAA_ISSUERS),
      txtShapes: {
        tokenLength: { min: values.TXT_TOKEN_SHORTEST, max: values.TXT_TOKEN_LONGEST },
        tokenPrefixes: values.TXT_TOKEN_PREFIXES,
        bareLengths: values.TXT_BARE_LENGTHS,
      },
      othersLabels: values.OTHERS_LABELS,
      ownLabels: values.OWN_LABELS.length === 0 ? null : values.OWN_LABELS,
      apexIntegrations: values.APEX_INTEGRATIONS,
      valuePolicy: values.VALUE_POLICY,
    });
  } catch (error) {
    throw new SettingsError([
      { name: 'The record policy', fault: `cannot be made: ${(error as Error).message}` },
    ]);
  }
}

/** In the nearest parent directory that has it, for the sources and for the bundle. */
function shippedNames(folder: string): string {
  const file = path.join(folder, 'apps/dns-gateway/data/underscored-names.csv');
  const parent = path.dirname(folder);
  return existsSync(file) || parent === folder ? file : shippedNames(parent);
}
