import type { RecordType, Zone } from '@certwright/gateway-contract';
import type { Json } from '../http/json';
import type { JsonApi, JsonReading } from '../http/json-api';
import { allPages } from '../http/pages';
import { path } from '../http/path';
import { relativeName, zoneOf } from '../records/names';
import { normalValue, presentationOf } from '../records/presentation';
import { isRecordType } from '../records/record-changes';
import type { Rrset, RrsetChange, RrsetPorts, WriteOutcome } from '../records/rrset-changes';

/** Seconds. The contract's min applies where a domain (below dedyn.io) allows less. */
const minTtlS = 60;
const maxTtlS = 604_800;

/** https://desec.readthedocs.io/en/latest/dns/rrsets.html */
export class DesecClient implements RrsetPorts {
  readonly format = presentationOf;
  readonly normal = normalValue;
  /** Min TTL by zone id, seconds. Cached from the list of domains, because reads are rate limited too. */
  readonly #minimumTtls = new Map<string, number>();

  constructor(private readonly api: JsonApi) {}

  zones(): Promise<readonly Zone[]> {
    return allPages<Zone, string>(
      'deSEC',
      '',
      async (cursor) => {
        const { json, headers } = await this.api.request({
          method: 'GET',
          path: '/domains/',
          // An empty cursor selects paged mode; without it more than 500 domains are an error.
          query: { cursor },
        });
        return { items: json.array().map((domain) => this.zone(domain)), next: nextCursor(headers['link']) };
      },
      ({ id }) => id,
    );
  }

  async read(zone: Zone, fqdn: string, types: readonly RecordType[]): Promise<readonly Rrset[]> {
    // One request for all types: one name never has enough RRsets for a second page.
    const found = await this.api.get(path`/domains/${zone.id}/rrsets/`, { subname: subname(fqdn, zone) });
    return found
      .array()
      .filter((rrset) => rrset.member('subname').string() === subname(fqdn, zone))
      .flatMap((rrset) => readRrset(rrset))
      .filter(({ type }) => types.includes(type));
  }

  /**
   * All or none ("Bulk operations are performed atomically"). Not retried automatically: a retry could overwrite a
   * change made in between.
   */
  async write(zone: Zone, fqdn: string, changes: readonly RrsetChange[]): Promise<WriteOutcome> {
    const body: unknown[] = [];
    for (const { type, before, after } of changes) {
      const named = { subname: subname(fqdn, zone), type };
      // An empty list of records deletes the RRset.
      if (after === null) body.push({ ...named, records: [] });
      else {
        const kept = before !== null && before.ttlS === after.ttlS ? after.ttlS : null;
        body.push({ ...named, ttl: kept ?? (await this.ttl(zone, after.ttlS)), records: after.values });
      }
    }
    await this.api.request({ method: 'PATCH', path: path`/domains/${zone.id}/rrsets/`, body });
    return 'written';
  }

  private async ttl(zone: Zone, wantedS: number | null): Promise<number> {
    if (!this.#minimumTtls.has(zone.id)) this.zone(await this.api.get(path`/domains/${zone.id}/`));
    const minS = Math.max(minTtlS, this.#minimumTtls.get(zone.id) ?? minTtlS);
    return Math.min(maxTtlS, Math.max(minS, wantedS ?? minS));
  }

  private zone(domain: Json): Zone {
    const name = domain.member('name').string();
    this.#minimumTtls.set(name, domain.member('minimum_ttl').number());
    return zoneOf(name, name);
  }
}

/** The apex is the empty name; `@` is for paths only. */
const subname = (fqdn: string, zone: Zone): string => (fqdn === zone.name ? '' : relativeName(fqdn, zone));

function readRrset(rrset: Json): readonly Rrset[] {
  const type = rrset.member('type').string();
  if (!isRecordType(type)) return [];
  const values = rrset
    .member('records')
    .array()
    .map((value) => value.string());
  return [{ type, values, ttlS: rrset.member('ttl').number(), version: null }];
}

/** Uses only the cursor of the next page's URL: the provider controls the URL itself. */
function nextCursor(link: string | undefined): string | null {
  const next = (link ?? '').split(/,\s*(?=<)/).find((entry) => /;\s*rel="?next"?\s*(;|$)/.test(entry));
  const address = /^\s*<([^>]*)>/.exec(next ?? '')?.[1];
  return address !== undefined && URL.canParse(address) ? new URL(address).searchParams.get('cursor') : null;
}

export const reading: JsonReading = {
  kindOf: (_json, status) => (status === 404 ? 'zone_not_found' : null),
  /** `detail` (permissions, limits), or errors of an RRset; a list for a bulk request, with `{}` for valid ones. */
  messageOf(json) {
    const about = json.isArray() ? json.array().find(hasMessage) : json;
    if (about === undefined) return null;
    const detail = about.optional('detail');
    if (detail !== null) return detail.string();
    return (
      about
        .optional('non_field_errors')
        ?.array()
        .map((message) => message.string())
        .join(' ') ?? null
    );
  },
};

const hasMessage = (part: Json): boolean =>
  part.isObject() && (part.optional('detail') !== null || part.optional('non_field_errors') !== null);
