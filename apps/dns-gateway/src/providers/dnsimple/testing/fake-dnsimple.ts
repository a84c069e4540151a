import { normalValue } from '../../records/presentation';
import { isRecordType } from '../../records/record-changes';
import { ApiServer, type ApiReply, type RecordedRequest } from '../../testing/api-server';
import { oauthClient } from '../../testing/oauth-conformance';
import type { PlainRecord } from '../../testing/provider-world';
import { inQuotes } from '../../testing/written-values';
import * as fixtures from './fixtures';

/** DNSimple's API as https://developer.dnsimple.com/v2/ documents it, as far as the gateway uses it. */
export class FakeDnsimple {
  readonly token = 'dnsimple_a_0123456789abcdef';
  /** Parameters that the browser brought. */
  readonly state = 'state-of-the-browser';
  readonly userToken = 'dnsimple_u_fedcba9876543210';
  #records: readonly fixtures.ZoneRecord[] = [];
  #lastId = 5;
  #code: string | null = 'planted-code-123456';
  #beforeCreation: (() => void) | null = null;
  server!: ApiServer;

  private constructor(private readonly zoneNames: readonly string[]) {}

  static async open(zoneNames: readonly string[]): Promise<FakeDnsimple> {
    const fake = new FakeDnsimple(zoneNames);
    fake.server = await ApiServer.open((request) => fake.#respond(request));
    return fake;
  }

  /** Runs between the client's read and its change. */
  beforeNextCreation(happens: () => void): void {
    this.#beforeCreation = happens;
  }

  plant({ fqdn, type, value }: PlainRecord, zone: string): void {
    this.plantContent(fqdn, zone, type, type === 'TXT' ? JSON.stringify(value) : value);
  }

  plantContent(fqdn: string, zone: string, type: string, content: string): void {
    this.#put(zone, { name: fqdn.slice(0, -zone.length - 1), type, content });
  }

  list(fqdn: string): readonly PlainRecord[] {
    return this.#records
      .filter(({ name, zone_id }) => `${name}.${zone_id}` === fqdn)
      .map(({ type, content }) => ({
        fqdn,
        type,
        value: isRecordType(type) ? normalValue(type, content) : content,
      }));
  }

  #respond({ method, path, query, headers, body }: RecordedRequest): ApiReply {
    if (path === '/oauth/access_token')
      return this.#exchange(JSON.parse(body) as Readonly<Record<string, unknown>>);
    const isUser = headers['authorization'] === `Bearer ${this.userToken}`;
    if (!isUser && headers['authorization'] !== `Bearer ${this.token}`) return fixtures.unauthorized;
    if (path === '/whoami') return isUser ? fixtures.whoamiUser : fixtures.whoamiAccount;
    const [, account, , zone, , id] = path.split('/').map(decodeURIComponent);
    if (account !== '1010') return fixtures.unauthorized;
    if (zone === undefined) return page(this.#zones(), query);
    if (!this.zoneNames.includes(zone)) return fixtures.zoneNotFound(zone);
    if (method === 'DELETE') return this.#delete(zone, id ?? '');
    if (method === 'POST') return this.#create(zone, JSON.parse(body) as fixtures.SentRecord);
    const name = query.get('name');
    return page(
      this.#records.filter((record) => record.zone_id === zone && (name === null || record.name === name)),
      query,
    );
  }

  #exchange(sent: Readonly<Record<string, unknown>>): ApiReply {
    const { clientId, clientSecret, redirectUri } = oauthClient;
    if (sent['client_id'] !== clientId || sent['client_secret'] !== clientSecret) {
      return fixtures.oauthRefusal(401, 'invalid_client');
    }
    if (sent['redirect_uri'] !== redirectUri || sent['state'] !== this.state) {
      return fixtures.oauthRefusal(400, 'invalid_request');
    }
    if (sent['code'] !== this.#code) return fixtures.oauthRefusal(400, 'invalid_grant');
    this.#code = null;
    return fixtures.accessToken(this.token);
  }

  #zones(): readonly object[] {
    const own = this.zoneNames.map((name, at) => fixtures.zone(at + 1, name, false));
    return [fixtures.zone(0, 'copy.example', true), ...own];
  }

  #delete(zone: string, id: string): ApiReply {
    const record = this.#records.find((each) => each.zone_id === zone && String(each.id) === id);
    if (record === undefined) return fixtures.recordNotFound(id);
    this.#records = this.#records.filter((each) => each !== record);
    return { status: 204 };
  }

  #create(zone: string, sent: fixtures.SentRecord): ApiReply {
    this.#beforeCreation?.();
    this.#beforeCreation = null;
    if (sent.type === 'TXT' && !inQuotes.test(sent.content))
      return fixtures.invalid({ content: ['is invalid'] });
    const others = this.#records.filter(({ zone_id, name }) => zone_id === zone && name === sent.name);
    if (others.some(({ type, content }) => type === sent.type && content === sent.content)) {
      return fixtures.duplicate;
    }
    if (others.some(({ type }) => type === 'CNAME' || sent.type === 'CNAME')) {
      return fixtures.invalid({ base: ['A CNAME record cannot exist with other records of the same name'] });
    }
    return { status: 201, body: { data: this.#put(zone, sent) } };
  }

  #put(zone: string, sent: fixtures.SentRecord): fixtures.ZoneRecord {
    const record = fixtures.record((this.#lastId += 1), zone, sent);
    this.#records = [...this.#records, record];
    return record;
  }
}

function page(all: readonly object[], query: URLSearchParams): ApiReply {
  const size = Math.min(100, Number(query.get('per_page') ?? 30));
  const at = Number(query.get('page') ?? 1);
  const pagination = {
    current_page: at,
    per_page: size,
    total_entries: all.length,
    total_pages: Math.max(1, Math.ceil(all.length / size)),
  };
  return { status: 200, body: { data: all.slice((at - 1) * size, at * size), pagination } };
}
