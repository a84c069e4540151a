import { MemoryZone } from '../memory/memory-zone';
import { type RecordData, type ZoneRecord } from '../record';

export const SOA: RecordData = {
  type: 'SOA',
  data: {
    mname: 'ns1.example.com',
    rname: 'hostmaster.example.com',
    serial: 7,
    refresh: 3600,
    retry: 600,
    expire: 604800,
    minimum: 30,
  },
};

export function record(name: string, data: RecordData, ttl = 300): ZoneRecord {
  return { ...data, name, ttl };
}

export function txt(name: string, ...strings: string[]): ZoneRecord {
  return record(name, { type: 'TXT', data: strings.map((part) => Buffer.from(part)) });
}

export function cname(name: string, data: string): ZoneRecord {
  return record(name, { type: 'CNAME', data });
}

export function ns(name: string, data: string): ZoneRecord {
  return record(name, { type: 'NS', data });
}

export function a(name: string, data: string, ttl = 300): ZoneRecord {
  return record(name, { type: 'A', data }, ttl);
}

/** A zone with SOA (TTL 3600, minimum 30), one NS and the given records. */
export function zone(apex: string, ...records: ZoneRecord[]): MemoryZone {
  return new MemoryZone(apex, [record(apex, SOA, 3600), ns(apex, 'ns1.example.com'), ...records]);
}
