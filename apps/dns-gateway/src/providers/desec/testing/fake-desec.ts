import { normalValue } from '../../records/presentation';
import { isRecordType } from '../../records/record-changes';
import { ApiServer, type ApiReply, type RecordedRequest } from '../../testing/api-server';
import type { PlainRecord } from '../../testing/provider-world';
import { inQuotes } from '../../testing/written-values';
import * as fixtures from './fixtures';

interface SentRrset {
  readonly subname?: string;
  readonly type: string;
  readonly ttl?: number;
  readonly records?: readonly string[];
}

/** deSEC's API as https://desec.readthedocs.io documents it, as far as the gateway uses it. */
export class FakeDesec {
  readonly token = 'i-am-a-desec-token-3fa85f64';
  readonly minimumTtls = new Map<string, number>();
  #rrsets: readonly fixtures.Rrset[] = [];
  /** False: a list of RRsets is the whole zone. */
  filters = true;
  /** The rate limit of writes is exhausted. */
  throttled = false;
  server!: ApiServer;

  static async open(zoneNames: readonly string[]): Promise<FakeDesec> {
    const fake = new FakeDesec();
    for (const name of zoneNames) fake.minimumTtls.set(name, 3_600);
    fake.server = await ApiServer.open((request) => fake.#respond(request));
    return fake;
  }

  plant({ fqdn, type, value }: PlainRecord, zone: string): void {
    const subname = fqdn.slice(0, -zone.length - 1);
    const written = type === 'TXT' ? JSON.stringify(value) : value;
    const before = this.#at(zone, subname).find((rrset) => rrset.type === type);
    this.#put(zone, { subname, type, ttl: 3_600, records: [...(before?.records ?? []), written] });
  }

  list(fqdn: string): readonly PlainRecord[] {
    return this.#rrsets
      .filter(({ name }) => name === `${fqdn}.`)
      .flatMap(({ type, records }) =>
        records.map((value) => ({
          fqdn,
          type,
          value: isRecordType(type) ? normalValue(type, value) : value,
        })),
      );
  }

  ttlAt(fqdn: string): number | null {
    return this.#rrsets.find(({ name }) => name === `${fqdn}.`)?.ttl ?? null;
  }

  #respond(request: RecordedRequest): ApiReply {
    if (request.headers['authorization'] !== `Token ${this.token}`) return fixtures.invalidToken;
    if (request.path === '/domains/') return this.#domains(request.query);
    const [, name = '', rest] = /^\/domains\/([^/]+)\/(rrsets\/)?$/.exec(request.path) ?? [];
    const minimumTtl = this.minimumTtls.get(name);
    if (minimumTtl === undefined) return fixtures.notFound;
    if (rest === undefined) return { status: 200, body: fixtures.domain(name, minimumTtl) };
    if (request.method === 'PATCH' && this.throttled) return fixtures.throttled;
    if (request.method === 'PATCH')
      return this.#patch(name, JSON.parse(request.body) as readonly SentRrset[]);
    const found = this.filters
      ? this.#at(name, request.query.get('subname') ?? '')
      : this.#rrsets.filter(({ domain }) => domain === name);
    return { status: 200, body: found };
  }

  #domains(query: URLSearchParams): ApiReply {
    const all = [...this.minimumTtls].map(([name, ttl]) => fixtures.domain(name, ttl));
    if (!query.has('cursor'))
      return all.length > 500 ? fixtures.paginationRequired : { status: 200, body: all };
    const from = Number(Buffer.from(query.get('cursor') ?? '', 'base64url').toString() || '0');
    const next = Buffer.from(String(from + 500)).toString('base64url');
    const links = [`<${this.server.url}/domains/?cursor=>; rel="first"`];
    if (from + 500 < all.length) links.push(`<${this.server.url}/domains/?cursor=${next}>; rel="next"`);
    return { status: 200, headers: { link: links.join(', ') }, body: all.slice(from, from + 500) };
  }

  #patch(zone: string, sent: readonly SentRrset[]): ApiReply {
    const faults = sent.map((rrset) => this.#faultOf(zone, rrset, sent));
    if (faults.some((fault) => Object.keys(fault).length > 0)) return { status: 400, body: faults };
    for (const rrset of sent) this.#put(zone, rrset);
    return { status: 200, body: this.#rrsets.filter(({ domain }) => domain === zone) };
  }

  #faultOf(
    zone: string,
    { subname = '', type, ttl, records }: SentRrset,
    sent: readonly SentRrset[],
  ): object {
    if (records?.length === 0) return {};
    if (ttl !== undefined && ttl < (this.minimumTtls.get(zone) ?? 0)) {
      return { ttl: [`Ensure this value is greater than or equal to ${this.minimumTtls.get(zone)}.`] };
    }
    if (type === 'TXT' && records?.every((record) => inQuotes.test(record)) !== true)
      return fixtures.malformed;
    const gone = sent.filter((rrset) => rrset.records?.length === 0).map((rrset) => rrset.type);
    const others = this.#at(zone, subname).filter(
      (rrset) => rrset.type !== type && !gone.includes(rrset.type),
    );
    return others.some((rrset) => rrset.type === 'CNAME' || type === 'CNAME') ? fixtures.conflictingType : {};
  }

  #put(zone: string, { subname = '', type, ttl, records = [] }: SentRrset): void {
    const before = this.#at(zone, subname).find((rrset) => rrset.type === type);
    this.#rrsets = this.#rrsets.filter((rrset) => rrset !== before);
    if (records.length === 0) return;
    const rrset = fixtures.rrset(zone, subname, type, records, ttl ?? before?.ttl ?? 3_600);
    this.#rrsets = [...this.#rrsets, rrset];
  }

  #at(zone: string, subname: string): readonly fixtures.Rrset[] {
    return this.#rrsets.filter((rrset) => rrset.domain === zone && rrset.subname === subname);
  }
}
