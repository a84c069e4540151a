import {
  type DnsName,
  parseName,
  type Prerequisite,
  STORED_TYPE,
  textStrings,
  type UpdateStep,
  type ZoneRecord,
} from '@certwright/dns-authority';
import { recordTypes, type RecordType } from '@certwright/gateway-contract';
import type { DnsRecord } from '../dns-provider';
import { ProviderFault } from '../provider-fault';
import { parseCaa } from '../records/caa-value';

/** The content of one UPDATE message, which a server applies atomically (RFC 2136, section 3.7). */
export interface Change {
  readonly prerequisites: readonly Prerequisite[];
  readonly steps: readonly UpdateStep[];
}

/** Seconds: the min that every server accepts; short, because approval records are temporary. */
const usualTtlS = 60;

/** Types used at names, except those that we remove: IANA's numbers. */
const foreignTypes = {
  A: 1,
  PTR: 12,
  MX: 15,
  AAAA: 28,
  LOC: 29,
  SRV: 33,
  NAPTR: 35,
  DNAME: 39,
  SSHFP: 44,
  TLSA: 52,
  OPENPGPKEY: 61,
  SVCB: 64,
  HTTPS: 65,
  URI: 256,
} as const;

/**
 * Adds beside existing records. A server ignores an addition beside a CNAME (section 3.4.2.2), and an addition
 * beside a delegation is invisible, so both must be absent.
 */
export function addition(record: ZoneRecord): Change {
  const conflicting: readonly RecordType[] = record.type === 'CNAME' ? recordTypes : ['CNAME', 'NS'];
  const types = conflicting.filter((type) => type !== record.type);
  return {
    prerequisites: [...absent(record.name, types), ...noForeignBeside(record)],
    steps: [{ step: 'add', record }],
  };
}

/**
 * The first of these whose prerequisites hold. Removing an absent type requires a key that may change that type, and
 * a valid key may change only two. So each removes only what may exist, and has the rest as a prerequisite.
 */
export function replacements(record: ZoneRecord): readonly Change[] {
  const own = record.type as RecordType;
  const removed: readonly (readonly RecordType[])[] = [[own], [own, 'TXT', 'CNAME'], recordTypes];
  return removed.map((types) => ({
    prerequisites: [
      ...absent(
        record.name,
        recordTypes.filter((type) => !types.includes(type)),
      ),
      ...noForeignBeside(record),
    ],
    steps: [
      ...[...new Set(types)].map((type): UpdateStep => ({ step: 'remove type', name: record.name, type })),
      { step: 'add', record },
    ],
  }));
}

/** Removing a missing record is not an error (section 3.4.2.4). */
export function removal(record: ZoneRecord): Change {
  return { prerequisites: [], steps: [{ step: 'remove', record }] };
}

/** Changes nothing. It is refused like any other update when the key is unknown or has no rights in this zone. */
export function trial(zone: DnsName): Change {
  return { prerequisites: [{ holds: 'name in use', name: zone }], steps: [] };
}

const absent = (name: DnsName, types: readonly RecordType[]): readonly Prerequisite[] =>
  types.map((type) => ({ holds: 'no such type', name, type: STORED_TYPE[type] }));

const noForeignBeside = ({ name, type }: ZoneRecord): readonly Prerequisite[] =>
  type === 'CNAME'
    ? Object.values(foreignTypes).map((foreign) => ({ holds: 'no such type', name, type: foreign }))
    : [];

/** @throws ProviderFault `rejected` for a record that a message cannot contain */
export function zoneRecord(record: DnsRecord): ZoneRecord {
  const name = parseName(record.fqdn);
  const ttl = record.ttlS ?? usualTtlS;
  if (name !== undefined) {
    if (record.type === 'TXT')
      return { type: 'TXT', name, ttl, data: textStrings(Buffer.from(record.value)) };
    if (record.type === 'CAA') {
      const data = parseCaa(record.value);
      if (data !== null) return { type: 'CAA', name, ttl, data };
    } else {
      const data = parseName(record.value);
      if (data !== undefined) return { type: record.type, name, ttl, data };
    }
  }
  throw new ProviderFault('rejected', `The ${record.type} record for ${record.fqdn} cannot be written.`);
}
