import type { Zone } from '@certwright/gateway-contract';
import type { DnsRecord } from '../dns-provider';
import type { Json } from '../http/json';
import type { JsonApi, JsonReading, JsonRequest } from '../http/json-api';
import { allPages } from '../http/pages';
import { path } from '../http/path';
import { ProviderFault } from '../provider-fault';
import { formatCaa, parseCaa } from '../records/caa-value';
import { fqdnOf, normalName, relativeName, zoneOf } from '../records/names';
import { isRecordType, type RecordPorts, type StoredRecord } from '../records/record-changes';

/** Max value of `page_size`. */
const pageSize = 500;

/** Seconds allowed in `ttl_sec`; the API rounds others to one of them. */
const ttlStepsS = [
  120, 300, 3_600, 7_200, 14_400, 28_800, 57_600, 86_400, 172_800, 345_600, 604_800, 1_209_600, 2_419_200,
] as const;

/** Default when the caller sets no TTL: the zone's default would be a day. */
const usualTtlS = 300;

/** https://techdocs.akamai.com/linode-api/reference/get-domains */
export class LinodeClient implements RecordPorts {
  constructor(private readonly api: JsonApi) {}

  async zones(): Promise<readonly Zone[]> {
    const domains = await this.all({ path: '/domains' });
    return (
      domains
        // A slave is a copy of a zone edited elsewhere.
        .filter((domain) => domain.member('type').string() === 'master')
        .map((domain) => zoneOf(domain.member('id').id(), domain.member('domain').string()))
    );
  }

  async list(zone: Zone, fqdn: string): Promise<readonly StoredRecord[]> {
    const name = nameIn(zone, fqdn);
    const records = await this.all({
      path: path`/domains/${zone.id}/records`,
      headers: { 'x-filter': JSON.stringify({ name }) },
    });
    return records
      .filter((record) => fqdnOf(record.member('name').string(), zone) === fqdn)
      .flatMap((record) => readRecord(record));
  }

  async create(zone: Zone, record: DnsRecord): Promise<StoredRecord | undefined> {
    const body = {
      type: record.type,
      name: nameIn(zone, record.fqdn),
      ttl_sec: stepOf(record.ttlS ?? usualTtlS),
      ...targetOf(record),
    };
    const { json } = await this.api.request({
      method: 'POST',
      path: path`/domains/${zone.id}/records`,
      body,
    });
    return readRecord(json)[0];
  }

  async delete(zone: Zone, { id }: StoredRecord): Promise<void> {
    await this.api.request({
      method: 'DELETE',
      path: path`/domains/${zone.id}/records/${id}`,
      // Ids are never reused, so a repeated deletion changes nothing.
      repeatable: true,
      accepted: [404],
    });
  }

  private all(request: Pick<JsonRequest, 'path' | 'headers'>): Promise<readonly Json[]> {
    return allPages<Json, number>(
      'Linode',
      1,
      async (page) => {
        const query = { page, page_size: pageSize };
        const { json } = await this.api.request({ method: 'GET', ...request, query });
        const pages = json.member('pages').number();
        return { items: json.member('data').array(), next: page < pages ? page + 1 : null };
      },
      (item) => item.member('id').id(),
    );
  }
}

/** The apex is the empty name. */
const nameIn = (zone: Zone, fqdn: string): string => (fqdn === zone.name ? '' : relativeName(fqdn, zone));

/** The next longer step: the API rounds other values anyway. */
const stepOf = (ttlS: number): number => ttlStepsS.find((step) => step >= ttlS) ?? 2_419_200;

/** TXT is the text itself, without quotes; names have no trailing dot; CAA has two members. */
function targetOf({ type, value }: DnsRecord): Readonly<Record<string, string>> {
  if (type !== 'CAA') return { target: value };
  const caa = parseCaa(value);
  if (caa?.flags !== 0) throw new ProviderFault('rejected', 'Linode has no CAA records with flags.');
  return { tag: caa.tag, target: caa.value };
}

function readRecord(record: Json): readonly StoredRecord[] {
  const type = record.member('type').string();
  if (!isRecordType(type)) return [];
  const id = record.member('id').id();
  const target = record.member('target').string();
  if (type === 'TXT') return [{ id, type, value: target }];
  if (type !== 'CAA') return [{ id, type, value: normalName(target) }];
  return [{ id, type, value: formatCaa({ flags: 0, tag: record.member('tag').string(), value: target }) }];
}

export const reading: JsonReading = {
  kindOf: (_json, status) => (status === 404 ? 'zone_not_found' : null),
  messageOf: (json) => json.optional('errors')?.array()[0]?.optional('reason')?.string() ?? null,
};
