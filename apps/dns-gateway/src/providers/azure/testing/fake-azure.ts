import { fqdnOf } from '../../records/names';
import type { ApiReply, RecordedRequest } from '../../testing/api-server';
import { clashes, type FakeZone, FakeZones } from '../../testing/fake-zones';

interface Properties {
  readonly TTL: number;
  readonly metadata?: object;
  readonly TXTRecords?: readonly { readonly value: readonly string[] }[];
  readonly caaRecords?: readonly { readonly flags: number; readonly tag: string; readonly value: string }[];
  readonly NSRecords?: readonly { readonly nsdname: string }[];
  readonly CNAMERecord?: { readonly cname: string };
}

const subscription = '11111111-2222-3333-4444-555555555555';
const group = `/subscriptions/${subscription}/resourceGroups/dns-rg/providers/Microsoft.Network/dnsZones`;
const version = '2018-05-01';

/** Azure Resource Manager's DNS as it is documented, with record sets, metadata and ETags. */
export class FakeAzure {
  /** By `fqdn type`; for every set that was written or read. */
  readonly metadata = new Map<string, object>();
  readonly tags = new Map<string, Readonly<Record<string, string>>>();
  readonly pageSize = 3;
  readonly #etags = new Map<string, number>();

  constructor(
    readonly zones: FakeZones,
    private readonly isToken: (token: string) => boolean,
  ) {}

  static idOf = (name: string): string => `${group}/${name}`;

  readonly respond = (request: RecordedRequest): ApiReply => {
    const token = /^Bearer (.+)$/.exec(request.headers['authorization'] ?? '')?.[1] ?? '';
    if (!this.isToken(token))
      return failure(401, 'InvalidAuthenticationToken', 'The access token is invalid.');
    if (request.query.get('api-version') !== version) return failure(400, 'MissingApiVersionParameter', 'x');
    if (request.path === `/subscriptions/${subscription}/providers/Microsoft.Network/dnszones`) {
      return this.listZones(request);
    }
    if (!request.path.startsWith(`${group}/`)) {
      return failure(404, 'SubscriptionNotFound', 'The subscription could not be found.');
    }
    const [name = '', type = '', relative = ''] = request.path.slice(group.length + 1).split('/');
    const zone = this.zones.byName(name);
    if (zone === undefined) return failure(404, 'ParentResourceNotFound', `The zone ${name} was not found.`);
    const fqdn = fqdnOf(decodeURIComponent(relative), zone);
    if (request.method === 'GET') return this.read(zone, fqdn, type) ?? missing;
    if (request.method === 'DELETE') return this.remove(zone, fqdn, type, request);
    return this.write(zone, fqdn, type, request);
  };

  private listZones({ query }: RecordedRequest): ApiReply {
    const start = Number(query.get('$skipToken') ?? 0);
    const next = start + this.pageSize;
    const value = this.zones.all.slice(start, next).map(({ id, name }) => ({
      id,
      name,
      type: 'Microsoft.Network/dnszones',
      etag: '00000000-0000-0000-0000-000000000000',
      location: 'global',
      tags: this.tags.get(name) ?? {},
      properties: { numberOfRecordSets: 2, zoneType: name.startsWith('private') ? 'Private' : 'Public' },
    }));
    const nextLink = `https://management.azure.com/subscriptions/subid?api-version=${version}&$skipToken=${next}`;
    return { status: 200, body: { value, ...(next < this.zones.all.length ? { nextLink } : {}) } };
  }

  private recordsAt(zone: FakeZone, fqdn: string, type: string) {
    return zone.records.filter((record) => record.fqdn === fqdn && record.type === type);
  }

  /** Changes with every change of the set, by any client. */
  private etagOf(zone: FakeZone, fqdn: string, type: string): string {
    const ids = this.recordsAt(zone, fqdn, type).map(({ id }) => id);
    return `etag-${this.#etags.get(`${fqdn} ${type}`) ?? 0}-${ids.join('.')}`;
  }

  private read(zone: FakeZone, fqdn: string, type: string): ApiReply | null {
    const records = this.recordsAt(zone, fqdn, type);
    const [first] = records;
    if (first === undefined) return null;
    const values = records.map(({ value }) => value);
    const properties = {
      metadata: this.metadata.get(`${fqdn} ${type}`),
      fqdn: `${fqdn}.`,
      TTL: first.ttl,
      provisioningState: 'Succeeded',
      ...propertiesOf(type, values),
    };
    const etag = this.etagOf(zone, fqdn, type);
    return { status: 200, body: { id: `${zone.id}/${type}`, name: fqdn, type, etag, properties } };
  }

  private write(zone: FakeZone, fqdn: string, type: string, request: RecordedRequest): ApiReply {
    const there = this.recordsAt(zone, fqdn, type);
    if (this.isStale(zone, fqdn, type, request)) return stale;
    const others = zone.records.filter((record) => record.fqdn === fqdn && record.type !== type);
    if (clashes(type, others)) return failure(400, 'BadRequest', `The record set of type ${type} conflicts.`);
    const { properties } = JSON.parse(request.body) as { readonly properties: Properties };
    const values = valuesOf(properties);
    if (values.some((value) => value === null)) return failure(400, 'BadRequest', 'A string is too long.');
    for (const { id } of there) this.zones.remove(zone, id);
    for (const value of values)
      this.zones.add(zone, { fqdn, type, value: String(value), ttl: properties.TTL });
    this.metadata.set(`${fqdn} ${type}`, properties.metadata ?? {});
    this.touch(fqdn, type);
    return { ...(this.read(zone, fqdn, type) ?? missing), status: there.length === 0 ? 201 : 200 };
  }

  private remove(zone: FakeZone, fqdn: string, type: string, request: RecordedRequest): ApiReply {
    const there = this.recordsAt(zone, fqdn, type);
    if (there.length === 0) return { status: 204 };
    if (this.isStale(zone, fqdn, type, request)) return stale;
    for (const { id } of there) this.zones.remove(zone, id);
    this.touch(fqdn, type);
    return { status: 200 };
  }

  private isStale(zone: FakeZone, fqdn: string, type: string, { headers }: RecordedRequest): boolean {
    const there = this.recordsAt(zone, fqdn, type).length > 0;
    if (headers['if-none-match'] === '*') return there;
    const etag = headers['if-match'];
    return etag !== undefined && etag !== this.etagOf(zone, fqdn, type);
  }

  private touch(fqdn: string, type: string): void {
    const key = `${fqdn} ${type}`;
    this.#etags.set(key, (this.#etags.get(key) ?? 0) + 1);
  }
}

function propertiesOf(type: string, values: readonly string[]): object {
  if (type === 'TXT')
    return { TXTRecords: values.map((value) => ({ value: value.match(/.{1,200}/gs) ?? [''] })) };
  if (type === 'NS') return { NSRecords: values.map((nsdname) => ({ nsdname: `${nsdname}.` })) };
  if (type === 'CNAME') return { CNAMERecord: { cname: values[0] } };
  return {
    caaRecords: values.map((text) => {
      const [, flags, tag, value] = /^(\d+) (\w+) "(.*)"$/.exec(text) ?? [];
      return { flags: Number(flags), tag, value };
    }),
  };
}

function valuesOf({
  TXTRecords,
  caaRecords,
  NSRecords,
  CNAMERecord,
}: Properties): readonly (string | null)[] {
  if (TXTRecords)
    return TXTRecords.map(({ value }) => (value.some((part) => part.length > 255) ? null : value.join('')));
  if (caaRecords) return caaRecords.map(({ flags, tag, value }) => `${flags} ${tag} "${value}"`);
  if (NSRecords) return NSRecords.map(({ nsdname }) => nsdname.replace(/\.$/, ''));
  return CNAMERecord ? [CNAMERecord.cname] : [];
}

const failure = (status: number, code: string, message: string): ApiReply => ({
  status,
  body: { error: { code, message } },
});
const stale = failure(412, 'PreconditionFailed', 'The condition is not satisfied for the supplied Etag.');
const missing: ApiReply = {
  status: 404,
  body: { code: 'NotFound', message: 'The resource record does not exist in resource group dns-rg.' },
};

export const fakeSubscription = subscription;
