import { fqdnOf, relativeName } from '../../records/names';
import type { ApiReply, RecordedRequest } from '../../testing/api-server';
import { clashes, type FakeRecord, type FakeZone, FakeZones } from '../../testing/fake-zones';

interface RecordBody {
  readonly type: string;
  readonly name: string;
  readonly data: string;
  readonly ttl?: number;
  readonly flags?: number;
  readonly tag?: string;
}

/** DigitalOcean's API v2 as it is documented, with its domains in memory. */
export class FakeDigitalOcean {
  constructor(
    readonly zones: FakeZones,
    private readonly isToken: (token: string) => boolean,
  ) {}

  readonly respond = (request: RecordedRequest): ApiReply => {
    const token = /^Bearer (.+)$/.exec(request.headers['authorization'] ?? '')?.[1] ?? '';
    if (!this.isToken(token)) return failure(401, 'unauthorized', 'Unable to authenticate you');
    const [, domain, recordId] =
      /^\/v2\/domains(?:\/([^/]+)\/records(?:\/(\d+))?)?$/.exec(request.path) ?? [];
    if (domain === undefined) return this.paged(request, 'domains', this.zones.all.map(domainObject));
    const zone = this.zones.byName(domain);
    if (zone === undefined) return notFound;
    if (request.method === 'GET') return this.list(zone, request);
    if (request.method === 'POST') return this.create(zone, JSON.parse(request.body));
    return this.zones.remove(zone, recordId ?? '') ? { status: 204 } : notFound;
  };

  private list(zone: FakeZone, request: RecordedRequest): ApiReply {
    const name = request.query.get('name');
    const found = zone.records.filter(({ fqdn }) => name === null || fqdn === name);
    return this.paged(
      request,
      'domain_records',
      found.map((record) => recordObject(record, zone)),
    );
  }

  private create(zone: FakeZone, body: RecordBody): ApiReply {
    const isTarget = body.type === 'CNAME' || body.type === 'NS' || /^issue/.test(body.tag ?? '');
    if (isTarget && !body.data.endsWith('.')) {
      return failure(422, 'unprocessable_entity', 'Data needs to end with a dot (.)');
    }
    const fqdn = fqdnOf(body.name, zone);
    if (clashes(body.type, this.zones.at(fqdn))) {
      return failure(422, 'unprocessable_entity', 'CNAME records cannot share a name with other records');
    }
    const target = isTarget ? body.data.slice(0, -1) : body.data;
    const value = body.type === 'CAA' ? `${body.flags} ${body.tag} "${target}"` : target;
    const record = this.zones.add(zone, { fqdn, type: body.type, value, ttl: body.ttl ?? 1800 });
    return { status: 201, body: { domain_record: recordObject(record, zone) } };
  }

  private paged({ query, path }: RecordedRequest, member: string, all: readonly object[]): ApiReply {
    const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('per_page') ?? 20)];
    const isLast = page * size >= all.length;
    const pages = isLast
      ? {}
      : { next: `https://api.digitalocean.com${path}?page=${page + 1}&per_page=${size}` };
    const items = all.slice((page - 1) * size, page * size);
    return { status: 200, body: { [member]: items, links: { pages }, meta: { total: all.length } } };
  }
}

const failure = (status: number, id: string, message: string): ApiReply => ({
  status,
  body: { id, message, request_id: '4d9d8375-3c56-4925-a3e7-eb137fed17e9' },
});

const notFound = failure(404, 'not_found', 'The resource you were accessing could not be found.');

const domainObject = ({ name }: FakeZone): object => ({ name, ttl: 1800, zone_file: '$ORIGIN' });

function recordObject({ id, type, fqdn, value, ttl }: FakeRecord, zone: FakeZone): object {
  const [, flags = null, tag = null, caa = ''] =
    /^(\d+) (\w+) "(.*)"$/.exec(type === 'CAA' ? value : '') ?? [];
  return {
    id: Number(id),
    type,
    name: relativeName(fqdn, zone),
    data: type === 'CAA' ? caa : type === 'CNAME' && value === zone.name ? '@' : value,
    priority: null,
    port: null,
    ttl,
    weight: null,
    flags: flags === null ? null : Number(flags),
    tag,
  };
}
