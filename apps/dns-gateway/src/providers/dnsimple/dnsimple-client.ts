import type { Zone } from '@certwright/gateway-contract';
import type { DnsRecord } from '../dns-provider';
import type { Json } from '../http/json';
import type { JsonApi, JsonReading, JsonRequest } from '../http/json-api';
import { allPages } from '../http/pages';
import { path } from '../http/path';
import { fqdnOf, relativeName, zoneOf } from '../records/names';
import { normalValue, presentationOf } from '../records/presentation';
import { isRecordType, type RecordPorts, type StoredRecord } from '../records/record-changes';
import { eitherTxt } from '../records/txt-value';

/** Max value of `per_page`. */
const pageSize = 100;

/** The account that a token belongs to; null for a user token, which may have several. */
export async function accountOf(api: JsonApi): Promise<string | null> {
  const whoami = await api.get('/whoami');
  return whoami.member('data').optional('account')?.member('id').id() ?? null;
}

/** https://developer.dnsimple.com/v2/zones/records/ */
export class DnsimpleClient implements RecordPorts {
  constructor(
    private readonly api: JsonApi,
    private readonly account: string,
  ) {}

  async zones(): Promise<readonly Zone[]> {
    const zones = await this.all({ path: path`/${this.account}/zones` });
    return (
      zones
        // A secondary zone is a copy of a zone edited elsewhere.
        .filter((zone) => zone.optional('secondary')?.boolean() !== true)
        .map((zone) => zone.member('name').string())
        .map((name) => zoneOf(name, name))
    );
  }

  async list(zone: Zone, fqdn: string): Promise<readonly StoredRecord[]> {
    const records = await this.all({ path: this.records(zone), query: { name: nameIn(zone, fqdn) } });
    return records
      .filter((record) => fqdnOf(record.member('name').string(), zone) === fqdn)
      .flatMap((record) => readRecord(record));
  }

  async create(zone: Zone, record: DnsRecord): Promise<StoredRecord | undefined> {
    const { type, ttlS } = record;
    const body = {
      name: nameIn(zone, record.fqdn),
      type,
      content: contentOf(record),
      ...(ttlS === null ? {} : { ttl: ttlS }),
    };
    const { json } = await this.api.request({ method: 'POST', path: this.records(zone), body });
    return readRecord(json.member('data'))[0];
  }

  async delete(zone: Zone, { id }: StoredRecord): Promise<void> {
    await this.api.request({
      method: 'DELETE',
      path: `${this.records(zone)}${path`/${id}`}`,
      // Ids are never reused, so a repeated deletion changes nothing.
      repeatable: true,
      accepted: [404],
    });
  }

  private records(zone: Zone): string {
    return path`/${this.account}/zones/${zone.id}/records`;
  }

  private all({ path, query = {} }: Pick<JsonRequest, 'path' | 'query'>): Promise<readonly Json[]> {
    return allPages<Json, number>(
      'DNSimple',
      1,
      async (page) => {
        const json = await this.api.get(path, { ...query, page, per_page: pageSize });
        const pages = json.member('pagination').member('total_pages').number();
        return { items: json.member('data').array(), next: page < pages ? page + 1 : null };
      },
      (item) => item.member('id').id(),
    );
  }
}

/** The apex is the empty name. */
const nameIn = (zone: Zone, fqdn: string): string => (fqdn === zone.name ? '' : relativeName(fqdn, zone));

/** TXT in quotes, strings of 255; names are absolute, without a trailing dot. */
const contentOf = (record: DnsRecord): string =>
  record.type === 'TXT' || record.type === 'CAA' ? presentationOf(record) : record.value;

function readRecord(record: Json): readonly StoredRecord[] {
  const type = record.member('type').string();
  if (!isRecordType(type)) return [];
  const content = record.member('content').string();
  // TXT records created before quotes became mandatory contain the text itself.
  const value = type === 'TXT' ? eitherTxt(content) : normalValue(type, content);
  return [{ id: record.member('id').id(), type, value }];
}

export const reading: JsonReading = {
  kindOf(json, status) {
    // Only refusals of the token endpoint have `error` (RFC 6749, section 5.2): a used or unknown code.
    if (status >= 400 && status < 500 && json.optional('error')?.string() === 'invalid_grant')
      return 'auth_failed';
    return status === 404 ? 'zone_not_found' : null;
  },
  messageOf: (json) => json.optional('message')?.string() ?? null,
};
