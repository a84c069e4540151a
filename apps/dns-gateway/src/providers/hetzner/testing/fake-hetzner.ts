import { normalValue } from '../../records/presentation';
import { isRecordType } from '../../records/record-changes';
import { ApiServer, type ApiReply, type RecordedRequest } from '../../testing/api-server';
import type { PlainRecord } from '../../testing/provider-world';
import { inQuotes } from '../../testing/written-values';
import * as fixtures from './fixtures';

interface SentAction {
  readonly ttl?: number | null;
  readonly records?: readonly { readonly value: string }[];
}

interface Place {
  readonly zone: number;
  readonly name: string;
  readonly type: string;
}

/** The DNS of Hetzner's Cloud API as https://docs.hetzner.cloud documents it, as far as the gateway uses it. */
export class FakeHetzner {
  readonly token = 'hcloud-0123456789abcdefghijklmnopqrstuvwxyz';
  readonly #zones: readonly {
    readonly id: number;
    readonly name: string;
    readonly mode: 'primary' | 'secondary';
  }[];
  #rrsets: readonly fixtures.Rrset[] = [];
  /** Called before an action is applied, and decides its result. */
  actionLooks = 1;
  actionEnd: fixtures.ActionStatus = 'success';
  readonly #looks = new Map<number, number>();
  readonly #refusals: ApiReply[] = [];
  #beforeAction: (() => void) | null = null;
  server!: ApiServer;

  private constructor(zoneNames: readonly string[]) {
    this.#zones = [
      { id: 7, name: 'copy.example', mode: 'secondary' },
      ...zoneNames.map((name, at) => ({ id: 42 + at, name, mode: 'primary' as const })),
    ];
  }

  static async open(zoneNames: readonly string[]): Promise<FakeHetzner> {
    const fake = new FakeHetzner(zoneNames);
    fake.server = await ApiServer.open((request) => fake.#respond(request));
    return fake;
  }

  /** Refusals for the next actions, in order. */
  refuseNext(...replies: readonly ApiReply[]): void {
    this.#refusals.push(...replies);
  }

  /** Runs between the client's read and its change. */
  beforeNextAction(happens: () => void): void {
    this.#beforeAction = happens;
  }

  idOf(zone: string): number {
    return this.#zones.find(({ name }) => name === zone)?.id ?? 0;
  }

  plant({ fqdn, type, value }: PlainRecord, zone: string, ttl: number | null = null): void {
    const place = { zone: this.idOf(zone), name: fqdn.slice(0, -zone.length - 1), type };
    const written = type === 'TXT' ? JSON.stringify(value) : value;
    const before = this.#rrset(place);
    this.#put(place, [...(before?.records ?? []).map((record) => record.value), written], before?.ttl ?? ttl);
  }

  rrsetsAt(fqdn: string): readonly fixtures.Rrset[] {
    const nameOf = (id: number): string => this.#zones.find((zone) => zone.id === id)?.name ?? '';
    return this.#rrsets.filter(({ name, zone }) => `${name}.${nameOf(zone)}` === fqdn);
  }

  list(fqdn: string): readonly PlainRecord[] {
    return this.rrsetsAt(fqdn).flatMap(({ type, records }) =>
      records.map(({ value }) => ({
        fqdn,
        type,
        value: isRecordType(type) ? normalValue(type, value) : value,
      })),
    );
  }

  #respond({ method, path, query, headers, body }: RecordedRequest): ApiReply {
    if (headers['authorization'] !== `Bearer ${this.token}`) return fixtures.unauthorized;
    if (path === '/zones') {
      return page(
        'zones',
        this.#zones.map(({ id, name, mode }) => fixtures.zone(id, name, mode)),
        query,
      );
    }
    const [, top, id = '', , name, type, , command = ''] = path.split('/').map(decodeURIComponent);
    if (top === 'actions') return this.#action(Number(id));
    const zone = this.#zones.find((each) => String(each.id) === id || each.name === id)?.id;
    if (zone === undefined) return fixtures.notFound;
    if (method === 'POST' && name !== undefined && type !== undefined) {
      this.#beforeAction?.();
      this.#beforeAction = null;
      const refusal =
        this.#refusals.shift() ??
        this.#refusal({ zone, name, type }, command, JSON.parse(body) as SentAction);
      return refusal ?? this.#accepted(command);
    }
    const wanted = query.get('name');
    return page(
      'rrsets',
      this.#rrsets.filter((rrset) => rrset.zone === zone && (wanted === null || rrset.name === wanted)),
      query,
    );
  }

  #accepted(command: string): ApiReply {
    const id = 1_000 + this.#looks.size;
    this.#looks.set(id, 0);
    const status = this.actionLooks === 0 ? this.actionEnd : 'running';
    return { status: 201, body: fixtures.action(id, `${command.replace('_', '_rrset_')}`, status) };
  }

  #action(id: number): ApiReply {
    const looks = (this.#looks.get(id) ?? 0) + 1;
    this.#looks.set(id, looks);
    const status = looks < this.actionLooks ? 'running' : this.actionEnd;
    return { status: 200, body: fixtures.action(id, 'add_rrset_records', status) };
  }

  /** Applies the action; null on success. */
  #refusal(place: Place, command: string, { ttl, records = [] }: SentAction): ApiReply | null {
    const before = this.#rrset(place);
    const old = before?.records.map(({ value }) => value) ?? [];
    const sent = records.map(({ value }) => value);
    if (place.type === 'TXT' && !sent.every((value) => inQuotes.test(value))) {
      return fixtures.invalid('records', 'TXT values must be quoted strings');
    }
    if (command === 'add_records') {
      if (sent.some((value) => old.includes(value))) return fixtures.notUnique;
      if (ttl !== undefined && ttl !== null && before !== undefined && ttl !== before.ttl)
        return fixtures.invalid('ttl', 'differs');
      const others = this.#rrsets.filter(
        (each) => each.zone === place.zone && each.name === place.name && each !== before,
      );
      if (others.some(({ type }) => type === 'CNAME' || place.type === 'CNAME')) {
        return fixtures.invalid('type', 'CNAME records cannot coexist with other records');
      }
      this.#put(place, [...old, ...sent], before?.ttl ?? ttl ?? null);
      return null;
    }
    if (
      before === undefined ||
      (command === 'remove_records' && !sent.every((value) => old.includes(value)))
    ) {
      return fixtures.refusal(404, 'not_found', 'rrset or record not found');
    }
    if (command === 'remove_records')
      this.#put(
        place,
        old.filter((value) => !sent.includes(value)),
        before.ttl,
      );
    else if (command === 'set_records') this.#put(place, sent, before.ttl);
    else this.#put(place, old, ttl ?? null);
    return null;
  }

  #rrset({ zone, name, type }: Place): fixtures.Rrset | undefined {
    return this.#rrsets.find((each) => each.zone === zone && each.name === name && each.type === type);
  }

  #put(place: Place, values: readonly string[], ttl: number | null): void {
    const before = this.#rrset(place);
    const after =
      values.length === 0 ? [] : [fixtures.rrset(place.zone, place.name, place.type, values, ttl)];
    this.#rrsets = [...this.#rrsets.filter((each) => each !== before), ...after];
  }
}

function page(member: string, all: readonly object[], query: URLSearchParams): ApiReply {
  const size = Math.min(50, Number(query.get('per_page') ?? 25));
  const at = Number(query.get('page') ?? 1);
  const last = Math.max(1, Math.ceil(all.length / size));
  const pagination = {
    page: at,
    per_page: size,
    previous_page: at > 1 ? at - 1 : null,
    next_page: at < last ? at + 1 : null,
    last_page: last,
    total_entries: all.length,
  };
  return { status: 200, body: { [member]: all.slice((at - 1) * size, at * size), meta: { pagination } } };
}
