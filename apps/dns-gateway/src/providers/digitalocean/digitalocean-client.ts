import type { Zone } from '@certwright/gateway-contract';
import type { DnsRecord } from '../dns-provider';
import type { Json } from '../http/json';
import type { JsonApi, JsonReading } from '../http/json-api';
import { allPages, type Page } from '../http/pages';
import { path } from '../http/path';
import { formatCaa, parseCaa } from '../records/caa-value';
import { absolute, fqdnOf, normalName, relativeName, zoneOf } from '../records/names';
import { isRecordType, type RecordPorts, type StoredRecord } from '../records/record-changes';

const provider = 'DigitalOcean';
const perPage = 200;
/** Min TTL of the API, seconds. */
const minTtlS = 30;

/** The domain records of API v2: names relative to the domain, TXT without quotes, targets with a trailing dot. */
export class DigitalOceanClient implements RecordPorts {
  constructor(private readonly api: JsonApi) {}

  zones(): Promise<readonly Zone[]> {
    // A domain has no id except its name.
    const readZone = (domain: Json): Zone => {
      const name = domain.member('name').string();
      return zoneOf(name, name);
    };
    return this.pages('/v2/domains', 'domains', {}, readZone, ({ id }) => id);
  }

  async list(zone: Zone, fqdn: string): Promise<readonly StoredRecord[]> {
    const where = path`/v2/domains/${zone.id}/records`;
    const read = (json: Json): ApiRecord => readRecord(json, zone);
    const all = await this.pages(where, 'domain_records', { name: fqdn }, read, ({ id }) => id);
    return all.flatMap((record) => (record.fqdn === fqdn ? stored(record, zone) : []));
  }

  async create(zone: Zone, record: DnsRecord): Promise<StoredRecord | undefined> {
    const { fqdn, type, ttlS } = record;
    const body = {
      type,
      name: relativeName(fqdn, zone),
      ...dataOf(record),
      ...(ttlS === null ? {} : { ttl: Math.max(minTtlS, ttlS) }),
    };
    const { json } = await this.api.request({
      method: 'POST',
      path: path`/v2/domains/${zone.id}/records`,
      body,
    });
    return stored(readRecord(json.member('domain_record'), zone), zone)[0];
  }

  async delete(zone: Zone, { id }: StoredRecord): Promise<void> {
    await this.api.request({
      method: 'DELETE',
      path: path`/v2/domains/${zone.id}/records/${id}`,
      accepted: [404],
      repeatable: true,
    });
  }

  private pages<T>(
    where: string,
    member: string,
    query: Readonly<Record<string, string>>,
    readItem: (json: Json) => T,
    keyOf: (item: T) => string,
  ): Promise<readonly T[]> {
    const readPage = async (page: number): Promise<Page<T, number>> => {
      const json = await this.api.get(where, { ...query, page, per_page: perPage });
      const items = json.member(member).array().map(readItem);
      const more = json.optional('links')?.optional('pages')?.optional('next');
      return { items, next: more ? page + 1 : null };
    };
    return allPages(provider, 1, readPage, keyOf);
  }
}

interface ApiRecord {
  readonly id: string;
  readonly type: string;
  readonly fqdn: string;
  readonly data: string;
  readonly flags: number;
  readonly tag: string;
}

const readRecord = (json: Json, zone: Zone): ApiRecord => ({
  id: json.member('id').id(),
  type: json.member('type').string(),
  fqdn: fqdnOf(json.member('name').string(), zone),
  data: json.optional('data')?.string() ?? '',
  flags: json.optional('flags')?.number() ?? 0,
  tag: json.optional('tag')?.string() ?? '',
});

function stored({ id, type, data, flags, tag }: ApiRecord, zone: Zone): readonly StoredRecord[] {
  if (!isRecordType(type)) return [];
  if (type === 'TXT') return [{ id, type, value: data }];
  if (type === 'CAA') return [{ id, type, value: formatCaa({ flags, tag, value: data.replace(/\.$/, '') }) }];
  // The API returns the domain itself as `@`.
  return [{ id, type, value: data === '@' ? zone.name : normalName(data) }];
}

function dataOf({ type, value }: DnsRecord): object {
  if (type === 'TXT') return { data: value };
  const caa = type === 'CAA' ? parseCaa(value) : null;
  if (caa === null) return { data: absolute(value) };
  // The CA's domain is a target too, and is refused without a trailing dot; an address (iodef) is not a target.
  const isDomain = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(caa.value);
  return { data: isDomain ? absolute(caa.value) : caa.value, flags: caa.flags, tag: caa.tag };
}

export const reading: JsonReading = {
  kindOf: (_json, status) => (status === 404 ? 'zone_not_found' : null),
  messageOf: (json) => json.member('message').string(),
};
