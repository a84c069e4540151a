import { createHash } from 'node:crypto';
import { normalValue } from '../../records/presentation';
import { isRecordType } from '../../records/record-changes';
import { ApiServer, type ApiReply, type RecordedRequest } from '../../testing/api-server';
import type { PlainRecord } from '../../testing/provider-world';
import * as fixtures from './fixtures';

/** Max deviation of a timestamp, seconds. */
const toleranceS = 30;

/** OVHcloud's API as https://eu.api.ovh.com/console/ documents it, as far as the gateway uses it. */
export class FakeOvh {
  readonly applicationKey = '7kbG7Bk7S9Nt7ZSV';
  readonly applicationSecret = 'EXEgWIz07P0HYwtQDs7cNIqCiQaWSuHF';
  readonly consumerKey = 'MtSwSrPpNjqfVSmJhLbPyr2i45lSwPU1';
  /** Seconds that this server's clock is ahead of the real one. */
  aheadS = 7_200;
  /** Stores a TXT without its quotes and escapes, as observed. */
  losesEscapes = false;
  #refusal: ApiReply | null = null;
  /** The edited records, and those that the name servers have. */
  #records: readonly fixtures.ZoneRecord[] = [];
  #published: readonly fixtures.ZoneRecord[] = [];
  #lastId = 1_230_000_000;
  server!: ApiServer;

  private constructor(private readonly zoneNames: readonly string[]) {}

  static async open(zoneNames: readonly string[]): Promise<FakeOvh> {
    const fake = new FakeOvh(zoneNames);
    fake.server = await ApiServer.open((request) => fake.#respond(request));
    return fake;
  }

  refuseAll(reply: ApiReply): void {
    this.#refusal = reply;
  }

  plant({ fqdn, type, value }: PlainRecord, zone: string): void {
    const target = type === 'TXT' ? JSON.stringify(value) : value;
    this.#put(zone, { subDomain: fqdn.slice(0, -zone.length - 1), fieldType: type, target });
    this.#published = this.#records;
  }

  /** The records of the name servers. */
  list(fqdn: string): readonly PlainRecord[] {
    return this.#published
      .filter(({ subDomain, zone }) => `${subDomain}.${zone}` === fqdn)
      .map(({ fieldType: type, target }) => ({
        fqdn,
        type,
        value: isRecordType(type) ? normalValue(type, target) : target,
      }));
  }

  #respond(request: RecordedRequest): ApiReply {
    const { method, path, query, body } = request;
    if (path === '/auth/time') return { status: 200, body: String(this.#nowS()) };
    const refusal = this.#refusal ?? this.#refusalOf(request);
    if (refusal !== null) return refusal;
    const [, , , zone, what, id] = path.split('/').map(decodeURIComponent);
    if (zone === undefined) return { status: 200, body: this.zoneNames };
    if (!this.zoneNames.includes(zone)) return fixtures.notFound('zoneName', zone);
    if (what === 'refresh') return this.#refresh(zone);
    if (id !== undefined) return this.#one(method, zone, id);
    if (method === 'POST') return this.#create(zone, JSON.parse(body) as fixtures.SentRecord);
    const like = pattern(query.get('subDomain') ?? '');
    const found = this.#records.filter((record) => record.zone === zone && like.test(record.subDomain));
    return { status: 200, body: found.map((record) => record.id) };
  }

  /** Null: the request is signed correctly. */
  #refusalOf({ method, path, query, headers, body }: RecordedRequest): ApiReply | null {
    if (headers['x-ovh-application'] !== this.applicationKey) return fixtures.invalidKey;
    if (headers['x-ovh-consumer'] !== this.consumerKey) return fixtures.invalidCredential;
    const timestamp = headers['x-ovh-timestamp'] ?? '';
    if (Math.abs(Number(timestamp) - this.#nowS()) > toleranceS) return fixtures.queryTimeOut;
    const url = `${this.server.url}${path}${query.size > 0 ? `?${query}` : ''}`;
    const text = `${this.applicationSecret}+${this.consumerKey}+${method}+${url}+${body}+${timestamp}`;
    const expected = `$1$${createHash('sha1').update(text).digest('hex')}`;
    return headers['x-ovh-signature'] === expected ? null : fixtures.invalidSignature;
  }

  #nowS(): number {
    return Math.floor(Date.now() / 1000) + this.aheadS;
  }

  #refresh(zone: string): ApiReply {
    const others = this.#published.filter((record) => record.zone !== zone);
    this.#published = [...others, ...this.#records.filter((record) => record.zone === zone)];
    return { status: 200, body: 'null' };
  }

  #one(method: string, zone: string, id: string): ApiReply {
    const record = this.#records.find((each) => each.zone === zone && String(each.id) === id);
    if (record === undefined) return fixtures.notFound('id', id);
    if (method === 'GET') return { status: 200, body: record };
    this.#records = this.#records.filter((each) => each !== record);
    return { status: 200, body: 'null' };
  }

  #create(zone: string, sent: fixtures.SentRecord): ApiReply {
    const others = this.#records.filter((each) => each.zone === zone && each.subDomain === sent.subDomain);
    if (others.some(({ fieldType }) => fieldType === 'CNAME' || sent.fieldType === 'CNAME')) {
      return fixtures.invalid('You cannot have a CNAME record with other records on the same subdomain');
    }
    if (sent.ttl !== undefined && sent.ttl !== 0 && sent.ttl < 60) return fixtures.invalid('Invalid ttl');
    const target = this.losesEscapes ? sent.target.replace(/\\/g, '') : sent.target;
    return { status: 200, body: this.#put(zone, { ...sent, target }) };
  }

  #put(zone: string, sent: fixtures.SentRecord): fixtures.ZoneRecord {
    const record = fixtures.record((this.#lastId += 1), zone, sent);
    this.#records = [...this.#records, record];
    return record;
  }
}

/** The filter is documented as "like": `_` is any character, `%` any number of characters. */
const pattern = (like: string): RegExp =>
  new RegExp(
    `^${[...like].map((one) => (one === '_' ? '.' : one === '%' ? '.*' : one.replace(/[.*+?^${}()|[\]\\]/, '\\$&'))).join('')}$`,
  );
