import type { Zone } from '@certwright/gateway-contract';
import type { DnsRecord } from '../dns-provider';
import type { Json } from '../http/json';
import type { JsonApi, JsonReading } from '../http/json-api';
import { allPages, type Page } from '../http/pages';
import { path } from '../http/path';
import type { ProviderFaultKind } from '../provider-fault';
import { parseCaa } from '../records/caa-value';
import { normalName, zoneOf } from '../records/names';
import { normalCaa } from '../records/presentation';
import { isRecordType, type RecordPorts, type StoredRecord } from '../records/record-changes';
import { eitherTxt, quotedTxt } from '../records/txt-value';

const provider = 'Cloudflare';

/**
 * 81057 and 81058: an identical record exists. 81053 and 81054: a CNAME conflicts with other records. The list shows
 * which of them is a success.
 */
const existsCodes: readonly number[] = [81053, 81054, 81057, 81058];
/** A malformed Authorization header, an unknown or expired token, a token without the permission. */
const authCodes: readonly number[] = [6003, 6111, 9103, 9106, 9107, 9109, 10000];
const unknownZoneCodes: readonly number[] = [1001, 7003];

/** API v4: every response is `{ success, errors, messages, result, result_info }`. */
export class CloudflareClient implements RecordPorts {
  constructor(private readonly api: JsonApi) {}

  async zones(): Promise<readonly Zone[]> {
    const zones = await this.pages('/zones', { per_page: 50 }, readZone, ({ id }) => id);
    return zones.filter(({ isServed }) => isServed);
  }

  list(zone: Zone, fqdn: string): Promise<readonly StoredRecord[]> {
    const query = { 'name.exact': fqdn, per_page: 100 };
    const records = this.pages(path`/zones/${zone.id}/dns_records`, query, readRecord, ({ id }) => id);
    return records.then((all) => all.flatMap((record) => (record.name === fqdn ? stored(record) : [])));
  }

  async create(zone: Zone, record: DnsRecord): Promise<StoredRecord | undefined> {
    // 1 is "automatic", which is 300 s; 60 is the min on all plans but Enterprise.
    const ttl = record.ttlS === null ? 1 : Math.min(86_400, Math.max(60, record.ttlS));
    const body = { type: record.type, name: record.fqdn, ttl, ...contentOf(record) };
    const { json } = await this.api.request({
      method: 'POST',
      path: path`/zones/${zone.id}/dns_records`,
      body,
    });
    return stored(readRecord(json.member('result')))[0];
  }

  async delete(zone: Zone, { id }: StoredRecord): Promise<void> {
    await this.api.request({
      method: 'DELETE',
      path: path`/zones/${zone.id}/dns_records/${id}`,
      accepted: [404],
      repeatable: true,
    });
  }

  private pages<T>(
    where: string,
    query: Readonly<Record<string, string | number>>,
    readItem: (json: Json) => T,
    keyOf: (item: T) => string,
  ): Promise<readonly T[]> {
    const readPage = async (page: number): Promise<Page<T, number>> => {
      const json = await this.api.get(where, { ...query, page });
      const items = json.member('result').array().map(readItem);
      const last = json.member('result_info').member('total_pages').number();
      return { items, next: page < last ? page + 1 : null };
    };
    return allPages(provider, 1, readPage, keyOf);
  }
}

/**
 * Cloudflare serves only "full" zones from its own records. Another provider serves "partial" zones, "secondary"
 * zones are transferred, and "internal" zones are visible inside networks only.
 */
const readZone = (zone: Json): Zone & { readonly isServed: boolean } => ({
  ...zoneOf(zone.member('id').string(), zone.member('name').string()),
  isServed: zone.member('type').string() === 'full',
});

interface ApiRecord {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly content: string;
}

const readRecord = (json: Json): ApiRecord => ({
  id: json.member('id').string(),
  type: json.member('type').string(),
  name: normalName(json.member('name').string()),
  // Some types have only data and no content; none of ours.
  content: json.optional('content')?.string() ?? '',
});

function stored({ id, type, content }: ApiRecord): readonly StoredRecord[] {
  if (!isRecordType(type)) return [];
  if (type === 'TXT') return [{ id, type, value: eitherTxt(content) }];
  return [{ id, type, value: type === 'CAA' ? normalCaa(content) : normalName(content) }];
}

function contentOf({ type, value }: DnsRecord): { readonly content: string } | { readonly data: object } {
  if (type === 'TXT') return { content: quotedTxt(value) };
  if (type === 'CAA') return { data: { ...parseCaa(value) } };
  return { content: value };
}

const codesOf = (json: Json): readonly number[] =>
  json
    .member('errors')
    .array()
    .map((error) => error.member('code').number());

export const reading: JsonReading = {
  kindOf,
  messageOf: (json) => json.member('errors').array()[0]?.member('message').string() ?? null,
};

/** Called for every response, because a failure may have status 200 and `success: false`. */
function kindOf(json: Json, status: number): ProviderFaultKind | null {
  const success = json.optional('success');
  if (success === null || success.boolean()) return null;
  const codes = codesOf(json);
  const has = (known: readonly number[]): boolean => codes.some((code) => known.includes(code));
  if (has(existsCodes)) return 'conflict';
  if (has(authCodes)) return 'auth_failed';
  if (has(unknownZoneCodes)) return 'zone_not_found';
  return status < 300 ? 'rejected' : null;
}
