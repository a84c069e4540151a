import { ApiServer, type ApiReply, type RecordedRequest } from '../../testing/api-server';
import type { PlainRecord } from '../../testing/provider-world';
import * as fixtures from './fixtures';

interface Domain {
  readonly id: number;
  readonly name: string;
  readonly type: 'master' | 'slave';
}

/** Linode's API as https://techdocs.akamai.com/linode-api/reference/ documents it, as far as the gateway uses it. */
export class FakeLinode {
  readonly token = 'linode-token-0123456789abcdef';
  /** By the domain's id. */
  readonly records = new Map<number, readonly fixtures.DomainRecord[]>();
  readonly #domains: readonly Domain[];
  /** Simulates an API that ignores the filter. */
  filters = true;
  #lastId = 9_000;
  server!: ApiServer;

  private constructor(zoneNames: readonly string[]) {
    const slave: Domain = { id: 999, name: 'copy.example', type: 'slave' };
    this.#domains = [
      slave,
      ...zoneNames.map((name, at) => ({ id: 1_000 + at, name, type: 'master' as const })),
    ];
  }

  static async open(zoneNames: readonly string[]): Promise<FakeLinode> {
    const fake = new FakeLinode(zoneNames);
    fake.server = await ApiServer.open((request) => fake.#respond(request));
    return fake;
  }

  idOf(zone: string): number {
    return this.#domains.find(({ name }) => name === zone)?.id ?? 0;
  }

  plant({ fqdn, type, value }: PlainRecord, zone: string): void {
    const [, tag = null, target = value] = /^0 (\S+) "(.*)"$/.exec(value) ?? [];
    const name = fqdn.slice(0, -zone.length - 1);
    this.#put(this.idOf(zone), { type, name, target, ...(type === 'CAA' ? { tag } : {}) });
  }

  list(fqdn: string): readonly PlainRecord[] {
    return this.#domains.flatMap((domain) =>
      (this.records.get(domain.id) ?? [])
        .filter(({ name }) => `${name}.${domain.name}` === fqdn)
        .map(({ type, tag, target }) => ({
          fqdn,
          type,
          value: type === 'CAA' ? `0 ${tag} "${target}"` : target,
        })),
    );
  }

  #respond(request: RecordedRequest): ApiReply {
    if (request.headers['authorization'] !== `Bearer ${this.token}`) return fixtures.invalidToken;
    if (request.path === '/domains') {
      return page(
        this.#domains.map(({ id, name, type }) => fixtures.domain(id, name, type)),
        request.query,
      );
    }
    const [, id, recordId] = /^\/domains\/(\d+)\/records(?:\/(\d+))?$/.exec(request.path) ?? [];
    const domain = this.#domains.find((each) => String(each.id) === id);
    if (domain === undefined) return fixtures.notFound;
    if (request.method === 'DELETE') return this.#delete(domain.id, Number(recordId));
    if (request.method === 'POST') {
      return this.#create(domain.id, JSON.parse(request.body) as fixtures.SentRecord);
    }
    const filter = JSON.parse(request.headers['x-filter'] ?? '{}') as { readonly name?: string };
    const there = this.records.get(domain.id) ?? [];
    return page(
      there.filter(({ name }) => !this.filters || filter.name === undefined || name === filter.name),
      request.query,
    );
  }

  #delete(domain: number, id: number): ApiReply {
    const there = this.records.get(domain) ?? [];
    if (!there.some((record) => record.id === id)) return fixtures.notFound;
    this.records.set(
      domain,
      there.filter((record) => record.id !== id),
    );
    return { status: 200, body: {} };
  }

  #create(domain: number, sent: fixtures.SentRecord): ApiReply {
    const others = (this.records.get(domain) ?? []).filter(({ name }) => name === sent.name);
    if (others.some(({ type }) => type === 'CNAME' || sent.type === 'CNAME')) {
      return fixtures.invalid('Hostname conflicts with existing CNAME record', 'name');
    }
    if (sent.type === 'CAA' && (sent.tag ?? null) === null) return fixtures.invalid('tag is required', 'tag');
    return { status: 200, body: this.#put(domain, sent) };
  }

  #put(domain: number, sent: fixtures.SentRecord): fixtures.DomainRecord {
    const record = fixtures.record((this.#lastId += 1), sent);
    this.records.set(domain, [...(this.records.get(domain) ?? []), record]);
    return record;
  }
}

function page(all: readonly object[], query: URLSearchParams): ApiReply {
  const size = Number(query.get('page_size') ?? 100);
  const at = Number(query.get('page') ?? 1);
  if (size < 25 || size > 500) return fixtures.invalid('Must be 25-500', 'page_size');
  const pages = Math.max(1, Math.ceil(all.length / size));
  if (at > pages) return fixtures.notFound;
  const data = all.slice((at - 1) * size, at * size);
  return { status: 200, body: { data, page: at, pages, results: all.length } };
}
