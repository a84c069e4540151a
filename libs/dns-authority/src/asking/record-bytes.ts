import { isIPv4, isIPv6 } from 'node:net';
import { CLASS, STORED_TYPE } from '../codes';
import { nameBytes, type DnsName } from '../name';
import { unwritable, type RecordData, type ZoneRecord } from '../record';

/** A record to be written to a message; without content, a statement about a name or a type (RFC 2136 section 2.4). */
export interface WrittenRecord {
  readonly name: DnsName;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly content?: Buffer;
}

/** Never compressed: RFC 2136 section 1.2 and signatures prefer it. */
export function recordBytes({ name, type, class: recordClass, ttl, content }: WrittenRecord): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(recordClass, 2);
  fixed.writeUInt32BE(ttl, 4);
  fixed.writeUInt16BE(content?.length ?? 0, 8);
  return Buffer.concat([nameBytes(name), fixed, content ?? Buffer.alloc(0)]);
}

/**
 * A record to add, or (RFC 2136 section 2.5.4) to delete.
 * @throws RangeError for a record that cannot be written
 */
export function written(record: ZoneRecord, how: 'add' | 'delete'): WrittenRecord {
  const fault = unwritable(record);
  if (fault !== undefined) throw new RangeError(`A ${record.type} record cannot be written: ${fault}.`);
  const { name, type } = record;
  const isAdded = how === 'add';
  return {
    name,
    type: STORED_TYPE[type],
    class: isAdded ? CLASS.IN : CLASS.NONE,
    ttl: isAdded ? record.ttl : 0,
    content: contentBytes(record),
  };
}

function contentBytes(record: RecordData): Buffer {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return addressBytes(record.data);
    case 'CNAME':
    case 'NS':
      return nameBytes(record.data);
    case 'TXT':
      return Buffer.concat(record.data.flatMap((part) => [Buffer.of(part.length), part]));
    case 'CAA': {
      const { flags, tag, value } = record.data;
      return Buffer.concat([Buffer.of(flags, tag.length), Buffer.from(tag + value, 'latin1')]);
    }
    case 'SOA': {
      const { mname, rname, serial, refresh, retry, expire, minimum } = record.data;
      const numbers = Buffer.alloc(20);
      [serial, refresh, retry, expire, minimum].forEach((value, n) => numbers.writeUInt32BE(value, 4 * n));
      return Buffer.concat([nameBytes(mname), nameBytes(rname), numbers]);
    }
  }
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  if (!isIPv6(address)) throw new RangeError('An address cannot be written.');
  // The URL Standard writes an IPv4 tail as two groups.
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const groups = (text = '') => text.split(':').filter((group) => group !== '');
  const [before, after] = [groups(head), groups(tail)];
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
