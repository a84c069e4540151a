import { SocketAddress, isIPv4, isIPv6 } from 'node:net';
import {
  TTL_LIMIT_S,
  parseName,
  textStrings,
  type RecordData,
  type ZoneRecord,
} from '@certwright/dns-authority';

/** A record in requests and responses of the control. */
export interface RecordText {
  readonly name: string;
  readonly type: string;
  /** CNAME, NS: a name. A, AAAA: an address. TXT: the text itself, unquoted. CAA: `0 issue "ca.example"`. */
  readonly value: string;
  /** Seconds. */
  readonly ttl: number;
}

/** Types that can be published, with the format of their values for messages. */
const VALUE_FORMS = {
  A: 'an IPv4 address',
  AAAA: 'an IPv6 address',
  CAA: 'flags, tag and quoted value, as in 0 issue "ca.example"',
  CNAME: 'a domain name',
  NS: 'a domain name',
  TXT: 'text of at most 4,000 bytes',
} as const;
export type PublishableType = keyof typeof VALUE_FORMS;
export const PUBLISHABLE_TYPES = Object.keys(VALUE_FORMS) as PublishableType[];

/** Fits with its response into the messages that common resolvers accept. */
const MAX_TEXT_BYTES = 4_000;
const CAA_FORM = /^(\d{1,3})\s+([A-Za-z0-9]{1,15})\s+"([ !#-~]{0,1000})"$/;

export function publishableType(text: string): PublishableType | undefined {
  return PUBLISHABLE_TYPES.find((type) => type === text.toUpperCase());
}

export function valueForm(type: PublishableType): string {
  return VALUE_FORMS[type];
}

/** `undefined` when the value does not have the format of the type. */
export function parseValue(type: PublishableType, value: string): RecordData | undefined {
  switch (type) {
    case 'A':
      return isIPv4(value) ? { type, data: value } : undefined;
    case 'AAAA':
      // A zone id (fe80::1%eth0) is not part of an address in DNS.
      if (!isIPv6(value) || value.includes('%')) return undefined;
      return { type, data: new SocketAddress({ family: 'ipv6', address: value }).address };
    case 'CNAME':
    case 'NS': {
      const data = parseName(value);
      return data === undefined ? undefined : { type, data };
    }
    case 'TXT': {
      const text = Buffer.from(value);
      // A lone surrogate cannot be encoded.
      return text.length <= MAX_TEXT_BYTES && text.toString() === value
        ? { type, data: textStrings(text) }
        : undefined;
    }
    case 'CAA': {
      const [, flags, tag = '', content = ''] = CAA_FORM.exec(value) ?? [];
      if (flags === undefined || Number(flags) > 255) return undefined;
      return { type, data: { flags: Number(flags), tag, value: content } };
    }
  }
}

export function isTtl(ttl: unknown): ttl is number {
  return typeof ttl === 'number' && Number.isInteger(ttl) && ttl >= 0 && ttl <= TTL_LIMIT_S;
}

export function textOf(record: ZoneRecord): RecordText {
  return { name: record.name, type: record.type, value: valueText(record), ttl: record.ttl };
}

function valueText(record: ZoneRecord): string {
  switch (record.type) {
    case 'TXT':
      return Buffer.concat([...record.data]).toString('utf8');
    case 'CAA':
      return `${record.data.flags} ${record.data.tag} "${record.data.value}"`;
    case 'SOA': {
      const { mname, rname, serial, refresh, retry, expire, minimum } = record.data;
      return [mname, rname, serial, refresh, retry, expire, minimum].join(' ');
    }
    default:
      return record.data;
  }
}
