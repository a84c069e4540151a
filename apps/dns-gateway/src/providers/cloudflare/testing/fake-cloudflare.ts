import type { ApiReply, RecordedRequest } from '../../testing/api-server';
import { clashes, type FakeRecord, type FakeZone, FakeZones } from '../../testing/fake-zones';
import { unquotedTxt } from '../../records/txt-value';

interface RecordBody {
  readonly type: string;
  readonly name: string;
  readonly content?: string;
  readonly data?: { readonly flags: number; readonly tag: string; readonly value: string };
  readonly ttl: number;
}

/** Cloudflare's API v4 as it is documented, with its zones in memory. */
export class FakeCloudflare {
  constructor(
    readonly zones: FakeZones,
    private readonly isToken: (token: string) => boolean,
  ) {}

  readonly respond = (request: RecordedRequest): ApiReply => {
    const token = /^Bearer (.+)$/.exec(request.headers['authorization'] ?? '')?.[1] ?? '';
    if (!this.isToken(token)) return failure(403, 9109, 'Invalid access token');
    const [, zoneId, , recordId] =
      /^\/zones(?:\/([^/]+)(\/dns_records)(?:\/([^/]+))?)?$/.exec(request.path) ?? [];
    if (zoneId === undefined) return paged(request, this.zones.all, zoneObject);
    const zone = this.zones.byId(zoneId);
    if (zone === undefined) return failure(404, 7003, 'Could not route to the zone');
    if (request.method === 'GET') return this.list(zone, request);
    if (request.method === 'POST') return this.create(zone, JSON.parse(request.body));
    return this.zones.remove(zone, recordId ?? '')
      ? { status: 200, body: { result: { id: recordId } } }
      : failure(404, 81044, 'Record does not exist.');
  };

  private list(zone: FakeZone, request: RecordedRequest): ApiReply {
    const name = request.query.get('name.exact');
    return paged(
      request,
      zone.records.filter(({ fqdn }) => name === null || fqdn === name),
      recordObject,
    );
  }

  private create(zone: FakeZone, body: RecordBody): ApiReply {
    const value = valueOf(body);
    if (value === null) return failure(400, 9005, 'Content for the record is invalid.');
    const there = this.zones.at(body.name);
    if (there.some((record) => record.type === body.type && record.value === value)) {
      return failure(400, 81058, 'An identical record already exists.');
    }
    if (clashes(body.type, there))
      return failure(400, 81053, 'A CNAME record with that host already exists.');
    const record = this.zones.add(zone, { fqdn: body.name, type: body.type, value, ttl: body.ttl });
    return success(recordObject(record));
  }
}

function valueOf({ type, content, data }: RecordBody): string | null {
  if (type === 'CAA') return data === undefined ? null : `${data.flags} ${data.tag} "${data.value}"`;
  if (content === undefined || type !== 'TXT') return content ?? null;
  // Strings in quotes, of at most 255 bytes each.
  const strings = content.match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  if (strings.join(' ') !== content) return null;
  return strings.some((text) => (unquotedTxt(text) ?? '').length > 255) ? null : unquotedTxt(content);
}

const success = (result: object, more: object = {}): ApiReply => ({
  status: 200,
  body: { success: true, errors: [], messages: [], result, ...more },
});

const failure = (status: number, code: number, message: string): ApiReply => ({
  status,
  body: { success: false, errors: [{ code, message }], messages: [], result: null },
});

function paged<T>({ query }: RecordedRequest, all: readonly T[], show: (item: T) => object): ApiReply {
  const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('per_page') ?? 20)];
  const items = all.slice((page - 1) * size, page * size);
  const result_info = {
    page,
    per_page: size,
    count: items.length,
    total_count: all.length,
    total_pages: Math.ceil(all.length / size),
  };
  return success(items.map(show), { result_info });
}

const zoneObject = ({ id, name }: FakeZone): object => ({
  id,
  name,
  status: 'active',
  paused: false,
  type: name === 'copy.example' ? 'secondary' : 'full',
  name_servers: ['bob.ns.cloudflare.com', 'lola.ns.cloudflare.com'],
});

const recordObject = ({ id, type, fqdn, value, ttl }: FakeRecord): object => ({
  id,
  type,
  name: fqdn,
  content: type === 'TXT' ? `"${value.replace(/["\\]/g, '\\$&')}"` : value,
  proxiable: false,
  proxied: false,
  ttl,
  settings: {},
  meta: {},
  comment: null,
  tags: [],
});
