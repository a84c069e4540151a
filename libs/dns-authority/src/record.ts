import { isIPv4, isIPv6 } from 'node:net';
import { type StoredType } from './codes';
import { parseName, type DnsName } from './name';

export interface Soa {
  readonly mname: DnsName;
  /** The mailbox as a name, in which the first dot is the `@`. */
  readonly rname: DnsName;
  readonly serial: number;
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  /** Negative TTL in seconds (RFC 2308 section 4). */
  readonly minimum: number;
}

export interface Caa {
  readonly flags: number;
  readonly tag: string;
  /** A character per byte (Latin-1). */
  readonly value: string;
}

/** Content of one record. Names in it are in the form of `DnsName`, addresses in their shortest form. */
export type RecordData =
  | { readonly type: 'A'; readonly data: string }
  | { readonly type: 'AAAA'; readonly data: string }
  | { readonly type: 'CNAME'; readonly data: DnsName }
  | { readonly type: 'NS'; readonly data: DnsName }
  /** Character-strings of at most 255 bytes each (RFC 1035 section 3.3.14). */
  | { readonly type: 'TXT'; readonly data: readonly Buffer[] }
  | { readonly type: 'CAA'; readonly data: Caa }
  | { readonly type: 'SOA'; readonly data: Soa };

export type ZoneRecord = RecordData & {
  readonly name: DnsName;
  /** Seconds, at most 2^31 − 1 (RFC 2181 section 8). */
  readonly ttl: number;
};

export type RecordOf<T extends StoredType> = Extract<ZoneRecord, { readonly type: T }>;

export const TTL_LIMIT_S = 2 ** 31 - 1;

/** The records of one type at one name. */
export function recordsOfType<T extends StoredType>(records: readonly ZoneRecord[], type: T): RecordOf<T>[] {
  return records.filter((record): record is RecordOf<T> => record.type === type);
}

/** Whether both records are equal, regardless of TTL (RFC 2136 section 1.1.1). */
export function sameRecord(a: ZoneRecord, b: ZoneRecord): boolean {
  return a.name === b.name && a.type === b.type && contentOf(a) === contentOf(b);
}

function contentOf(record: RecordData): string {
  switch (record.type) {
    case 'TXT':
      return record.data.map((part) => part.toString('hex')).join('.');
    case 'CAA':
      return `${record.data.flags} ${record.data.tag.toLowerCase()} ${record.data.value}`;
    case 'SOA':
      return JSON.stringify(record.data);
    default:
      return record.data;
  }
}

/** Splits TXT content into character-strings of at most 255 bytes, at least one. */
export function textStrings(text: Buffer): Buffer[] {
  const strings: Buffer[] = [];
  for (let at = 0; at < text.length; at += 255) strings.push(text.subarray(at, at + 255));
  return strings.length === 0 ? [Buffer.alloc(0)] : strings;
}

/** RFC 1982 section 3.2: serial numbers wrap; 0 is skipped since some secondaries treat it as unset. */
export function nextSerial(serial: number): number {
  return (serial + 1) % 2 ** 32 || 1;
}

/** RFC 1982 section 3.2. */
export function isNewerSerial(candidate: number, current: number): boolean {
  return candidate !== current && (candidate - current) >>> 0 < 2 ** 31;
}

/** Why a record cannot be written to the wire, for logs; `undefined` if it can. */
export function unwritable(record: ZoneRecord): string | undefined {
  if (!isNormal(record.name)) return 'its name is not in normal form';
  if (!(record.ttl >= 0 && record.ttl <= TTL_LIMIT_S)) return 'its TTL is out of range';
  return isContentWritable(record) ? undefined : 'its content is malformed';
}

function isContentWritable(record: RecordData): boolean {
  switch (record.type) {
    case 'A':
      return isIPv4(record.data);
    case 'AAAA':
      return isIPv6(record.data) && !record.data.includes('%');
    case 'CNAME':
    case 'NS':
      return isNormal(record.data);
    case 'SOA':
      return isNormal(record.data.mname) && isNormal(record.data.rname);
    case 'CAA':
      return (
        record.data.flags >= 0 &&
        record.data.flags <= 255 &&
        /^[A-Za-z0-9]{1,255}$/.test(record.data.tag) &&
        // dns-packet would write other characters as two bytes each.
        /^[ -~]*$/.test(record.data.value)
      );
    case 'TXT':
      return record.data.length > 0 && record.data.every(({ length }) => length <= 255);
  }
}

function isNormal(name: DnsName): boolean {
  return parseName(name) === name;
}
