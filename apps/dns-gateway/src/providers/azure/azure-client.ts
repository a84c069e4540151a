import type { RecordType, Zone } from '@certwright/gateway-contract';
import type { DnsRecord, ProviderPorts } from '../dns-provider';
import type { Json } from '../http/json';
import { type Authorizer, JsonApi } from '../http/json-api';
import { allPages } from '../http/pages';
import { path } from '../http/path';
import { ProviderFault, type ProviderFaultKind } from '../provider-fault';
import { relativeName, zoneOf } from '../records/names';
import {
  oneByOne,
  type Rrset,
  type RrsetChange,
  type RrsetPorts,
  type WriteOutcome,
} from '../records/rrset-changes';
import { type AzureRecord, normalOf, recordsIn, recordsOut, writingOf } from './azure-records';

const provider = 'Azure DNS';
const version = { 'api-version': '2018-05-01' } as const;
/** TTL of record sets that we create, seconds; short, because added records are read immediately. */
const usualTtlS = 60;
/** The tag of the zone that contains the account's external id. */
export const externalIdTag = 'certwright-external-id';

export interface AzurePlace {
  readonly baseUrl: string;
  readonly subscription: string;
  readonly externalId: string;
}

/** The ETag of a record set, and the members that must be preserved when it is written. */
interface Version {
  readonly etag: string;
  readonly metadata: unknown;
}

/** Record sets in Azure Resource Manager. ETags provide compare-and-swap per record set. */
export class AzureClient implements RrsetPorts {
  private readonly api: JsonApi;
  readonly write = oneByOne((zone, fqdn, change) => this.writeOne(zone, fqdn, change));

  constructor(
    private readonly place: AzurePlace,
    authorizer: Authorizer,
    { callApi, now, rest }: ProviderPorts,
    signal: AbortSignal,
  ) {
    const { baseUrl } = place;
    this.api = new JsonApi({
      ...{ provider, baseUrl, authorizer, call: callApi, now, rest, signal },
      kindOf,
      messageOf: (json) => errorOf(json).member('message').string(),
    });
  }

  /** Only zones tagged with the external id: an application is admitted per tenant, and tenant ids are not secret. */
  zones(): Promise<readonly Zone[]> {
    const where = path`/subscriptions/${this.place.subscription}/providers/Microsoft.Network/dnszones`;
    const readPage = async (skipToken: string) => {
      const more: Record<string, string> = skipToken === '' ? {} : { $skipToken: skipToken };
      const json = await this.api.get(where, { ...version, ...more });
      const items = json.member('value').array().map(readZone);
      const nextLink = json.optional('nextLink')?.string() ?? '';
      return { items, next: nextLink === '' ? null : skipTokenOf(nextLink) };
    };
    return allPages(provider, '', readPage, ({ zone }) => zone.id).then((all) =>
      all
        .filter(({ externalId, isPublic }) => isPublic && externalId === this.place.externalId)
        .map(({ zone }) => zone),
    );
  }

  async read(zone: Zone, fqdn: string, types: readonly RecordType[]): Promise<readonly Rrset[]> {
    const found = await Promise.all(types.map((type) => this.readOne(zone, fqdn, type)));
    return found.filter((rrset) => rrset !== null);
  }

  format(record: DnsRecord): string {
    return writingOf(record);
  }

  normal(type: RecordType, value: string): string {
    return normalOf(type, value);
  }

  private async readOne(zone: Zone, fqdn: string, type: RecordType): Promise<Rrset | null> {
    const { status, json } = await this.api.request({
      method: 'GET',
      path: rrsetPath(zone, fqdn, type),
      query: version,
      accepted: [404],
    });
    if (status === 404) return null;
    const properties = json.member('properties');
    const metadata = properties.optional('metadata')?.raw() ?? null;
    const compared: Version = { etag: json.member('etag').string(), metadata };
    return {
      type,
      values: recordsIn(type, properties).map((record) => JSON.stringify(record)),
      ttlS: properties.member('TTL').number(),
      version: JSON.stringify(compared),
    };
  }

  private async writeOne(
    zone: Zone,
    fqdn: string,
    { type, before, after }: RrsetChange,
  ): Promise<WriteOutcome> {
    const compared = before === null ? null : (JSON.parse(before.version ?? '{}') as Version);
    const condition: Record<string, string> =
      compared === null ? { 'if-none-match': '*' } : { 'if-match': compared.etag };
    const request = {
      path: rrsetPath(zone, fqdn, type),
      query: version,
      headers: condition,
      accepted: [412],
      // A repeated change is stale, and a new read shows that it was applied.
      repeatable: true,
    };
    if (after === null) {
      // 204: it did not exist.
      const { status } = await this.api.request({ ...request, method: 'DELETE', accepted: [404, 412] });
      return status === 412 ? 'stale' : 'written';
    }
    const records = after.values.map((value) => JSON.parse(value) as AzureRecord);
    const metadata = compared?.metadata ?? null;
    const properties = {
      TTL: after.ttlS ?? usualTtlS,
      ...recordsOut(type, records),
      ...(metadata === null ? {} : { metadata }),
    };
    const { status, json } = await this.api.request({ ...request, method: 'PUT', body: { properties } });
    if (status === 412) return 'stale';
    json.member('etag').string();
    return 'written';
  }
}

/** `/subscriptions/…/resourceGroups/…/providers/Microsoft.Network/dnsZones/example.com` */
const zoneId =
  /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Network\/dnszones\/([^/]+)$/i;

function rrsetPath(zone: Zone, fqdn: string, type: RecordType): string {
  const [, subscription = '', group = '', name = ''] = zoneId.exec(zone.id) ?? [];
  const relative = relativeName(fqdn, zone);
  return path`/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Network/dnsZones/${name}/${type}/${relative}`;
}

interface ListedZone {
  readonly zone: Zone;
  readonly externalId: string | null;
  /** Legacy private zones are visible inside a network only. */
  readonly isPublic: boolean;
}

function readZone(json: Json): ListedZone {
  const id = json.member('id').string();
  if (!zoneId.test(id)) undocumented('the id of a zone is none');
  const externalId = json.optional('tags')?.optional(externalIdTag)?.string() ?? null;
  const isPublic = json.optional('properties')?.optional('zoneType')?.string() !== 'Private';
  return { zone: zoneOf(id, json.member('name').string()), externalId, isPublic };
}

/** The link itself is not followed: it could send the token to another host. */
function skipTokenOf(nextLink: string): string {
  const members = URL.canParse(nextLink) ? [...new URL(nextLink).searchParams] : [];
  const [, token] = members.find(([name]) => name.toLowerCase() === '$skiptoken') ?? [];
  return token ?? undocumented('the link to the next page has no $skipToken');
}

function undocumented(how: string): never {
  throw new ProviderFault('unavailable', `${provider} did not respond as documented: ${how}.`);
}

/** `{ error: { code, message } }`; some errors of the DNS service lack the outer member. */
const errorOf = (json: Json): Json => json.optional('error') ?? json;

const missingZone: readonly string[] = [
  'ParentResourceNotFound',
  'ResourceGroupNotFound',
  'SubscriptionNotFound',
];

function kindOf(json: Json, status: number): ProviderFaultKind | null {
  if (status < 400) return null;
  const code = errorOf(json).member('code').string();
  return status === 404 || missingZone.includes(code) ? 'zone_not_found' : null;
}
