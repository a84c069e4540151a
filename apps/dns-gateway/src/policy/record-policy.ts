import { quoteInput } from '@certwright/dns-names';
import { recordTypes, type WantedRecord, type Zone } from '@certwright/gateway-contract';
import type { DnsRecord } from '../providers/dns-provider';
import { firstLabel, readRecordName } from './record-name';
import type { RecordRules } from './record-rules';
import { readRecordValue } from './record-value';
import { challengeLabel, checkValue } from './value-policy';
import { chooseZone } from './zone-choice';

export type RecordMode = 'add' | 'replace';

/** As requested: the type may be any text, because refusals are reported and recorded, too. */
export type RequestedRecord = Omit<WantedRecord, 'type'> & { readonly type: string };

/** A record that relates to the issuance of certificates; its zone is not chosen yet. */
export interface FitRecord {
  readonly allowed: true;
  readonly record: DnsRecord;
  readonly mode: RecordMode;
}

export interface AllowedRecord extends FitRecord {
  readonly zone: Zone;
}

export interface RefusedRecord {
  readonly allowed: false;
  readonly code: 'policy_violation' | 'zone_not_found' | 'invalid_value' | 'out_of_range';
  readonly field: 'record.fqdn' | 'record.type' | 'record.value' | 'record.ttl' | 'record.replace';
  /** A sentence for the caller. */
  readonly message: string;
}

/**
 * Seconds: below the min, resolvers query this record too often; above the max, a renewal would wait for the cached
 * one to expire.
 */
const ttlRangeS = { min: 30, max: 3_600 } as const;

/**
 * Whether a record relates to the issuance of certificates, and exactly what to write: the result contains the
 * checked normal forms. Nothing else of the request may reach a provider.
 */
export function checkRecord(wanted: RequestedRecord, rules: RecordRules): FitRecord | RefusedRecord {
  const type = recordTypes.find((each) => each === wanted.type);
  if (type === undefined) {
    return violation('record.type', `Only records of type ${recordTypes.join(', ')} relate to issuance.`);
  }
  const fqdn = readRecordName(wanted.fqdn);
  if (!fqdn.ok) return invalid('record.fqdn', `The name ${quoteInput(wanted.fqdn)} ${fqdn.reason}.`);
  const mode = (wanted.replace ?? (type === 'CNAME' || type === 'NS')) ? 'replace' : 'add';
  const broken = brokenRule(mode, type, firstLabel(fqdn.name), rules);
  if (broken !== null) return broken;

  const { ttl } = wanted;
  if (ttl !== undefined && !(Number.isInteger(ttl) && ttlRangeS.min <= ttl && ttl <= ttlRangeS.max)) {
    const message = `The TTL is from ${ttlRangeS.min} to ${ttlRangeS.max} whole seconds.`;
    return { allowed: false, code: 'out_of_range', field: 'record.ttl', message };
  }
  const read = readRecordValue(type, wanted.value);
  if (!read.ok) return invalid('record.value', read.message);
  if (read.value.type !== 'TXT' && read.value.text === fqdn.name)
    return violation('record.value', 'A record cannot point to its own name.');
  const refusal = rules.valuePolicy ? checkValue(fqdn.name, read.value, rules) : null;
  if (refusal !== null) return violation(refusal.field, refusal.message);

  const record = { fqdn: fqdn.name, type, value: read.value.text, ttlS: ttl ?? null };
  return { allowed: true, record, mode };
}

/**
 * Chooses the zone of a checked record.
 *
 * @param zones as the provider listed them for this integration
 * @param isApexOpen whether the operator lets this integration add TXT and CAA records at the apex of its zones
 */
export function placeRecord(
  fit: FitRecord,
  zones: readonly Zone[],
  isApexOpen: boolean,
): AllowedRecord | RefusedRecord {
  const { fqdn } = fit.record;
  const choice = chooseZone(fqdn, zones);
  switch (choice.kind) {
    case 'below':
      return { ...fit, zone: choice.zone };
    case 'apex':
      // `brokenRule` allows adding TXT and CAA only, and no replacement at a name without an underscore.
      return isApexOpen
        ? { ...fit, zone: choice.zone }
        : violation(
            'record.fqdn',
            'The operator of this gateway allows no records at the apex of this zone.',
          );
    case 'none': {
      const message = `No zone of the integration holds ${fqdn}.`;
      return { allowed: false, code: 'zone_not_found', field: 'record.fqdn', message };
    }
  }
}

/** The rule of `add_record`: which records may be added to others, and which may replace others, at which names. */
function brokenRule(
  mode: RecordMode,
  type: DnsRecord['type'],
  label: string,
  { underscoredNames }: RecordRules,
): RefusedRecord | null {
  if (mode === 'add') {
    if (type === 'TXT' || type === 'CAA') return null;
    return violation('record.replace', `A ${type} record cannot coexist with others; it replaces them.`);
  }
  if (label === challengeLabel) return null;
  if (!label.startsWith('_')) {
    return violation(
      'record.fqdn',
      'A record replaces others only at a name whose first label starts with an underscore.',
    );
  }
  if (!underscoredNames.has(label)) return null;
  return violation(
    'record.fqdn',
    `${label} is a registered name of another purpose: nothing is replaced there.`,
  );
}

function violation(field: RefusedRecord['field'], message: string): RefusedRecord {
  return { allowed: false, code: 'policy_violation', field, message };
}

function invalid(field: RefusedRecord['field'], message: string): RefusedRecord {
  return { allowed: false, code: 'invalid_value', field, message };
}
