import { normalValue } from '../../records/presentation';
import { isRecordType } from '../../records/record-changes';
import { ApiServer, type ApiReply, type RecordedRequest } from '../../testing/api-server';
import type { PlainRecord } from '../../testing/provider-world';
import { inQuotes } from '../../testing/written-values';
import * as fixtures from './fixtures';

interface SentRrset {
  readonly rrset_ttl?: number;
  readonly rrset_values?: readonly string[];
}

/** LiveDNS as https://api.gandi.net/docs/livedns/ documents it, as far as the gateway uses it. */
export class FakeGandi {
  readonly token = 'pat-5f2a9c31d04e4b7a8e66';
  /** By zone and name. */
  readonly #rrsets = new Map<string, readonly fixtures.Rrset[]>();
  #countsDomains = true;
  server!: ApiServer;

  private constructor(private readonly zoneNames: readonly string[]) {}

  static async open(zoneNames: readonly string[]): Promise<FakeGandi> {
    const fake = new FakeGandi(zoneNames);
    fake.server = await ApiServer.open((request) => fake.#respond(request));
    return fake;
  }

  /** Omits the header Total-Count. */
  hideCount(): void {
    this.#countsDomains = false;
  }

  plant({ fqdn, type, value }: PlainRecord, zone: string): void {
    const name = fqdn.slice(0, -zone.length - 1);
    const written = type === 'TXT' ? JSON.stringify(value) : value;
    const before = this.#at(zone, name).find(({ rrset_type }) => rrset_type === type);
    this.#put(zone, name, type, [...(before?.rrset_values ?? []), written], 10_800);
  }

  rrsetsAt(fqdn: string): readonly fixtures.Rrset[] {
    return [...this.#rrsets].flatMap(([key, rrsets]) => {
      const [zone, name] = key.split(' ');
      return `${name}.${zone}` === fqdn ? rrsets : [];
    });
  }

  list(fqdn: string): readonly PlainRecord[] {
    return this.rrsetsAt(fqdn).flatMap(({ rrset_type: type, rrset_values }) =>
      rrset_values.map((value) => ({
        fqdn,
        type,
        value: isRecordType(type) ? normalValue(type, value) : value,
      })),
    );
  }

  #respond(request: RecordedRequest): ApiReply {
    if (request.headers['authorization'] !== `Bearer ${this.token}`) return fixtures.forbidden;
    if (request.path === '/domains') return this.#domains(request.query);
    const [zone = '', name, type] = request.path
      .split('/')
      .filter((_, at) => at === 2 || at > 3)
      .map(decodeURIComponent);
    if (!this.zoneNames.includes(zone)) return fixtures.notFound;
    if (name === undefined) return { status: 200, body: fixtures.domain(zone) };
    if (type === undefined) {
      const there = this.#at(zone, name);
      return there.length === 0 ? fixtures.notFound : { status: 200, body: there };
    }
    if (request.method === 'DELETE') return this.#delete(zone, name, type);
    return this.#write(zone, name, type, JSON.parse(request.body) as SentRrset);
  }

  #domains(query: URLSearchParams): ApiReply {
    const size = Math.min(100, Number(query.get('per_page') ?? 25));
    const from = (Number(query.get('page') ?? 1) - 1) * size;
    const headers: Record<string, string> = this.#countsDomains
      ? { 'total-count': String(this.zoneNames.length) }
      : {};
    return { status: 200, headers, body: this.zoneNames.slice(from, from + size).map(fixtures.domain) };
  }

  #delete(zone: string, name: string, type: string): ApiReply {
    const there = this.#at(zone, name);
    if (!there.some(({ rrset_type }) => rrset_type === type)) return fixtures.notFound;
    this.#rrsets.set(
      `${zone} ${name}`,
      there.filter(({ rrset_type }) => rrset_type !== type),
    );
    return { status: 204 };
  }

  #write(zone: string, name: string, type: string, { rrset_ttl: ttl, rrset_values }: SentRrset): ApiReply {
    const values = rrset_values ?? [];
    if (ttl !== undefined && (ttl < 300 || ttl > 2_592_000)) {
      return fixtures.invalid('rrset_ttl', `${ttl} is not between 300 and 2592000`);
    }
    if (values.length === 0) return fixtures.invalid('rrset_values', 'Shorter than minimum length 1');
    // The real API accepts unquoted values too, but the gateway never sends one.
    if (type === 'TXT' && !values.every((value) => inQuotes.test(value))) {
      return fixtures.invalid('rrset_values', 'not in quotes');
    }
    const others = this.#at(zone, name).filter(({ rrset_type }) => rrset_type !== type);
    if (others.some(({ rrset_type }) => type === 'CNAME' || rrset_type === 'CNAME'))
      return fixtures.cnameBeside;
    this.#put(zone, name, type, values, ttl ?? 10_800);
    return fixtures.created;
  }

  #put(zone: string, name: string, type: string, values: readonly string[], ttl: number): void {
    const others = this.#at(zone, name).filter(({ rrset_type }) => rrset_type !== type);
    this.#rrsets.set(`${zone} ${name}`, [...others, fixtures.rrset(zone, name, type, values, ttl)]);
  }

  #at(zone: string, name: string): readonly fixtures.Rrset[] {
    return this.#rrsets.get(`${zone} ${name}`) ?? [];
  }
}
