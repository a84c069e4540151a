import type { RecordType } from '@certwright/gateway-contract';
import type { DnsRecord } from '../dns-provider';
import type { Json } from '../http/json';
import { formatCaa, parseCaa } from '../records/caa-value';
import { normalName } from '../records/names';
import { txtStrings } from '../records/txt-value';

/** One record within a record set, in the API's format for each of the four types. */
export interface AzureRecord {
  /** TXT: strings of at most 255 bytes, without quotes. CAA: the text after the tag. */
  readonly value?: readonly string[] | string;
  readonly flags?: number;
  readonly tag?: string;
  readonly cname?: string;
  readonly nsdname?: string;
}

export function recordsIn(type: RecordType, properties: Json): readonly AzureRecord[] {
  const list = (member: string): readonly Json[] => properties.optional(member)?.array() ?? [];
  const readers: Record<RecordType, () => readonly AzureRecord[]> = {
    TXT: () =>
      list('TXTRecords').map((one) => ({
        value: one
          .member('value')
          .array()
          .map((text) => text.string()),
      })),
    CAA: () =>
      list('caaRecords').map((one) => ({
        flags: one.member('flags').number(),
        tag: one.member('tag').string(),
        value: one.member('value').string(),
      })),
    NS: () => list('NSRecords').map((one) => ({ nsdname: one.member('nsdname').string() })),
    CNAME: () => {
      const one = properties.optional('CNAMERecord');
      // An alias to another Azure resource contains no name.
      return one === null ? [] : [{ cname: one.member('cname').string() }];
    },
  };
  return readers[type]();
}

export function recordsOut(type: RecordType, records: readonly AzureRecord[]): object {
  const writers: Record<RecordType, () => object> = {
    TXT: () => ({ TXTRecords: records }),
    CAA: () => ({ caaRecords: records }),
    NS: () => ({ NSRecords: records }),
    CNAME: () => ({ CNAMERecord: records[0] }),
  };
  return writers[type]();
}

/** A record as the text used in RRset changes. */
export function writingOf({ type, value }: DnsRecord): string {
  const writers: Record<RecordType, () => AzureRecord> = {
    TXT: () => ({ value: txtStrings(value) }),
    CAA: () => ({ ...parseCaa(value) }),
    NS: () => ({ nsdname: value }),
    CNAME: () => ({ cname: value }),
  };
  return JSON.stringify(writers[type]());
}

export function normalOf(type: RecordType, writing: string): string {
  const { value, flags = 0, tag = '', cname = '', nsdname = '' } = JSON.parse(writing) as AzureRecord;
  if (type === 'TXT') return Array.isArray(value) ? value.join('') : '';
  if (type === 'CAA') return formatCaa({ flags, tag, value: String(value) });
  return normalName(type === 'CNAME' ? cname : nsdname);
}
