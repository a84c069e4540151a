import type { RecordType, Zone } from '@certwright/gateway-contract';
import type { Json } from '../http/json';
import type { JsonApi, JsonReading } from '../http/json-api';
import { allPages } from '../http/pages';
import { path } from '../http/path';
import { relativeName, zoneOf } from '../records/names';
import { normalValue, presentationOf } from '../records/presentation';
import { isRecordType } from '../records/record-changes';
import {
  oneByOne,
  type Rrset,
  type RrsetChange,
  type RrsetPorts,
  type WriteOutcome,
} from '../records/rrset-changes';

/** Max value of `per_page`. */
const pageSize = 100;

/** Seconds, as documented for `rrset_ttl`; the default for an RRset is 10800. */
const minTtlS = 300;
const maxTtlS = 2_592_000;

/** https://api.gandi.net/docs/livedns/ */
export class GandiClient implements RrsetPorts {
  readonly write = oneByOne((zone, fqdn, change) => this.writeOne(zone, fqdn, change));
  readonly format = presentationOf;
  readonly normal = normalValue;

  constructor(private readonly api: JsonApi) {}

  zones(): Promise<readonly Zone[]> {
    let seen = 0;
    return allPages<Zone, number>(
      'Gandi LiveDNS',
      1,
      async (page) => {
        const { json, headers } = await this.api.request({
          method: 'GET',
          path: '/domains',
          query: { per_page: pageSize, page },
        });
        const items = json.array().map((domain) => domain.member('fqdn').string());
        seen += items.length;
        const more = items.length > 0 && seen < totalCount(headers['total-count'], items.length, seen);
        return { items: items.map((name) => zoneOf(name, name)), next: more ? page + 1 : null };
      },
      ({ id }) => id,
    );
  }

  async read(zone: Zone, fqdn: string, types: readonly RecordType[]): Promise<readonly Rrset[]> {
    const name = relativeName(fqdn, zone);
    const { status, json } = await this.api.request({
      method: 'GET',
      path: path`/domains/${zone.id}/records/${name}`,
      accepted: [404],
    });
    // The name has no records, or the domain does not exist: a request for the domain shows which.
    if (status === 404) {
      await this.api.get(path`/domains/${zone.id}`);
      return [];
    }
    return json
      .array()
      .filter((rrset) => rrset.member('rrset_name').string().toLowerCase() === name)
      .flatMap((rrset) => readRrset(rrset))
      .filter(({ type }) => types.includes(type));
  }

  /** Not retried automatically: a retry could overwrite a change made in between. */
  private async writeOne(zone: Zone, fqdn: string, { type, after }: RrsetChange): Promise<WriteOutcome> {
    const rrset = path`/domains/${zone.id}/records/${relativeName(fqdn, zone)}/${type}`;
    if (after === null) await this.api.request({ method: 'DELETE', path: rrset, accepted: [404] });
    else {
      const ttl = Math.min(maxTtlS, Math.max(minTtlS, after.ttlS ?? minTtlS));
      await this.api.request({
        method: 'PUT',
        path: rrset,
        body: { rrset_ttl: ttl, rrset_values: after.values },
      });
    }
    return 'written';
  }
}

/** Without the header, a full page is assumed to be followed by another. */
function totalCount(header: string | undefined, items: number, seen: number): number {
  if (header !== undefined && /^\d{1,9}$/.test(header)) return Number(header);
  return items >= pageSize ? seen + 1 : seen;
}

function readRrset(rrset: Json): readonly Rrset[] {
  const type = rrset.member('rrset_type').string();
  if (!isRecordType(type)) return [];
  const values = rrset
    .member('rrset_values')
    .array()
    .map((value) => value.string());
  return [{ type, values, ttlS: rrset.member('rrset_ttl').number(), version: null }];
}

export const reading: JsonReading = {
  kindOf: (_json, status) => (status === 404 ? 'zone_not_found' : null),
  /** The errors per member of the request, otherwise the message for the whole request. */
  messageOf(json) {
    const [first] = json.optional('errors')?.array() ?? [];
    return (first?.optional('description') ?? json.optional('message'))?.string() ?? null;
  },
};
