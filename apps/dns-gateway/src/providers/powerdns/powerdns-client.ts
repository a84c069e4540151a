import type { RecordType, Zone } from '@certwright/gateway-contract';
import type { Json } from '../http/json';
import type { JsonApi, JsonReading } from '../http/json-api';
import { path } from '../http/path';
import { ProviderFault } from '../provider-fault';
import { absolute, normalName, zoneOf } from '../records/names';
import { normalValue, presentationOf } from '../records/presentation';
import type { Rrset, RrsetChange, RrsetPorts, WriteOutcome } from '../records/rrset-changes';

/** Seconds; the API requires one for every RRset. */
const usualTtlS = 60;
/** Max failed writes of one session at the server (HTTP 500: SQLite allows one writer at a time). */
const maxFailures = 4;
/** Kinds of zones whose records come from elsewhere. */
const copiedKinds = ['slave', 'secondary', 'consumer'];
/**
 * Mark of a disabled record, which is not served. It precedes the content as text that begins no content of the four
 * types. A disabled record thus survives a read and a write, and never equals one of ours.
 */
const disabledMark = 'disabled ';

/** https://doc.powerdns.com/authoritative/http-api/zone.html */
export class PowerdnsClient implements RrsetPorts {
  readonly format = presentationOf;
  readonly normal = normalOf;
  #failures = 0;

  constructor(
    private readonly api: JsonApi,
    private readonly server: string,
  ) {}

  /** In one list: the API has no pages. */
  async zones(): Promise<readonly Zone[]> {
    const zones = await this.api.get(path`/servers/${this.server}/zones`);
    return zones
      .array()
      .filter((zone) => !copiedKinds.includes(zone.member('kind').string().toLowerCase()))
      .map((zone) => zoneOf(zone.member('id').id(), zone.member('name').string()));
  }

  async read(zone: Zone, fqdn: string, types: readonly RecordType[]): Promise<readonly Rrset[]> {
    const records = [...(await this.#served(zone, fqdn)), ...(await this.#disabled(zone, fqdn))];
    return types.flatMap((type): Rrset[] => {
      const ours = records.filter((record) => record.type === type);
      const [first] = ours;
      const values = [...new Set(ours.map(({ value }) => value))];
      return first === undefined ? [] : [{ type, values, ttlS: first.ttlS, version: null }];
    });
  }

  async #served(zone: Zone, fqdn: string): Promise<readonly StoredValue[]> {
    // Servers before 4.4 ignore the filter and return the whole zone.
    const found = await this.api.get(this.#pathOf(zone), { rrset_name: absolute(fqdn) });
    return found
      .member('rrsets')
      .array()
      .filter((rrset) => normalName(rrset.member('name').string()) === fqdn)
      .flatMap((rrset) => {
        const type = rrset.member('type').string();
        const ttlS = rrset.member('ttl').number();
        const records = rrset.member('records').array();
        return records.map((record) => ({ type, ttlS, value: valueOf(record) }));
      });
  }

  /**
   * The filter omits disabled records, and writing the RRset without them would delete them. When the server's
   * database cannot be searched, or a proxy blocks the search, none are assumed.
   */
  async #disabled(zone: Zone, fqdn: string): Promise<readonly StoredValue[]> {
    const { status, json } = await this.api.request({
      method: 'GET',
      path: path`/servers/${this.server}/search-data`,
      query: { q: fqdn, object_type: 'record', max: 1_000 },
      accepted: [403, 404, 405],
    });
    if (status >= 400) return [];
    return json
      .array()
      .filter((record) => normalName(record.member('name').string()) === fqdn)
      .filter((record) => record.member('zone_id').string() === zone.id && isDisabled(record))
      .map((record) => ({
        type: record.member('type').string(),
        ttlS: record.member('ttl').number(),
        value: valueOf(record),
      }));
  }

  /**
   * In one transaction. There is no compare-and-swap: the caller must hold the zone's lock. When the outcome is
   * unknown, a new read shows it.
   */
  async write(zone: Zone, fqdn: string, changes: readonly RrsetChange[]): Promise<WriteOutcome> {
    const body = { rrsets: changes.map((change) => writtenRrset(fqdn, change)) };
    try {
      await this.api.request({ method: 'PATCH', path: this.#pathOf(zone), body });
      return 'written';
    } catch (error) {
      this.#failures += 1;
      const isPassing = error instanceof ProviderFault && error.kind === 'unavailable';
      if (!isPassing || this.#failures >= maxFailures) throw error;
      return 'stale';
    }
  }

  #pathOf(zone: Zone): string {
    return path`/servers/${this.server}/zones/${zone.id}`;
  }
}

interface StoredValue {
  readonly type: string;
  readonly ttlS: number;
  /** With its mark when it is disabled. */
  readonly value: string;
}

const isDisabled = (record: Json): boolean => record.optional('disabled')?.boolean() === true;

const valueOf = (record: Json): string =>
  `${isDisabled(record) ? disabledMark : ''}${record.member('content').string()}`;

/** Comments are kept because the member is absent. */
function writtenRrset(fqdn: string, { type, after }: RrsetChange): object {
  const named = { name: absolute(fqdn), type };
  if (after === null) return { ...named, changetype: 'DELETE' };
  const records = after.values.map((value) => {
    const disabled = value.startsWith(disabledMark);
    return { content: disabled ? value.slice(disabledMark.length) : value, disabled };
  });
  return { ...named, changetype: 'REPLACE', ttl: after.ttlS ?? usualTtlS, records };
}

/** For a disabled record, a value that equals nothing: values are printable. */
const normalOf = (type: RecordType, value: string): string =>
  value.startsWith(disabledMark) ? `\0${value}` : normalValue(type, value);

export const reading: JsonReading = {
  kindOf(json, status) {
    if (status === 404) return 'zone_not_found';
    // "Conflicts with pre-existing RRset", "with another RRset": there is no error code.
    const isConflict = status === 422 && /\bconflicts with\b/i.test(json.optional('error')?.string() ?? '');
    return isConflict ? 'conflict' : null;
  },
};
