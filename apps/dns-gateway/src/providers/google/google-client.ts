import type { RecordType, Zone } from '@certwright/gateway-contract';
import type { Json } from '../http/json';
import type { JsonApi, JsonReading } from '../http/json-api';
import { allPages } from '../http/pages';
import { path } from '../http/path';
import type { ProviderFaultKind } from '../provider-fault';
import { absolute, normalName, zoneOf } from '../records/names';
import { normalValue, presentationOf } from '../records/presentation';
import { isRecordType } from '../records/record-changes';
import {
  routedConflict,
  type Rrset,
  type RrsetChange,
  type RrsetPorts,
  type WriteOutcome,
} from '../records/rrset-changes';

const provider = 'Google Cloud DNS';

/** TTL of RRsets that we create, seconds; short, because added records are read immediately. */
const usualTtlS = 60;

/** https://docs.cloud.google.com/dns/docs/error-messages: reasons of 403 besides missing permission. */
const kinds: ReadonlyMap<string, ProviderFaultKind> = new Map([
  ['rateLimitExceeded', 'rate_limited'],
  ['userRateLimitExceeded', 'rate_limited'],
  // The max number of RRsets or records is reached: a retry is refused as well.
  ['quotaExceeded', 'rejected'],
]);

/**
 * A deleted RRset does not exist (404) or differs (412), or an added one exists (409). 404 may also mean that the
 * zone does not exist; a new read shows which.
 */
const staleStatuses: readonly number[] = [404, 409, 412];

/**
 * Cloud DNS v1. A change lists RRsets to delete and RRsets to add, and is atomic. The deleted ones must equal the
 * existing ones exactly: this is the compare-and-swap.
 */
export class GoogleClient implements RrsetPorts {
  readonly format = presentationOf;
  readonly normal = normalValue;

  constructor(
    private readonly api: JsonApi,
    private readonly project: string,
  ) {}

  zones(): Promise<readonly Zone[]> {
    const readPage = async (pageToken: string) => {
      const where = path`/dns/v1/projects/${this.project}/managedZones`;
      const json = await this.api.get(where, pageToken === '' ? {} : { pageToken });
      const zones = listOf(json, 'managedZones');
      return { items: zones.flatMap(publicZone), next: json.optional('nextPageToken')?.string() ?? null };
    };
    return allPages(provider, '', readPage, ({ id }) => id);
  }

  async read(zone: Zone, fqdn: string, types: readonly RecordType[]): Promise<readonly Rrset[]> {
    // The API filters by one type at most; all types of a name are few and fit on one page.
    const [only, ...others] = types;
    const query = {
      name: absolute(fqdn),
      ...(only !== undefined && others.length === 0 ? { type: only } : {}),
    };
    const readPage = async (pageToken: string) => {
      const where = path`/dns/v1/projects/${this.project}/managedZones/${zone.id}/rrsets`;
      const json = await this.api.get(where, pageToken === '' ? query : { ...query, pageToken });
      const rrsets = listOf(json, 'rrsets').map(readRrset);
      return { items: rrsets, next: json.optional('nextPageToken')?.string() ?? null };
    };
    const all = await allPages(provider, '', readPage, ({ name, type }) => `${name} ${type}`);
    return all.flatMap(({ name, type, values, ttlS }) => {
      if (name !== fqdn || !isRecordType(type) || !types.includes(type)) return [];
      if (values === null) throw routedConflict(fqdn, type);
      return [{ type, values, ttlS, version: null }];
    });
  }

  async write(zone: Zone, fqdn: string, changes: readonly RrsetChange[]): Promise<WriteOutcome> {
    const rrset = (type: RecordType, values: readonly string[], ttlS: number | null): object => ({
      name: absolute(fqdn),
      type,
      ttl: ttlS ?? usualTtlS,
      rrdatas: values,
    });
    const { status, json } = await this.api.request({
      method: 'POST',
      path: path`/dns/v1/projects/${this.project}/managedZones/${zone.id}/changes`,
      body: {
        deletions: changes.flatMap(({ type, before }) =>
          before === null ? [] : [rrset(type, before.values, before.ttlS)],
        ),
        additions: changes.flatMap(({ type, after }) =>
          after === null ? [] : [rrset(type, after.values, after.ttlS)],
        ),
      },
      accepted: staleStatuses,
      // A repeated change is stale, and a new read shows that it was applied.
      repeatable: true,
    });
    if (staleStatuses.includes(status)) return 'stale';
    json.member('id').id();
    return 'written';
  }
}

/** An empty list may be absent; the kind of the response is always present. */
function listOf(json: Json, member: string): readonly Json[] {
  json.member('kind').string();
  return json.optional(member)?.array() ?? [];
}

/** Private zones are visible inside networks only: no CA would find a record there. */
function publicZone(json: Json): readonly Zone[] {
  const visibility = json.optional('visibility')?.string() ?? 'public';
  if (visibility !== 'public') return [];
  return [zoneOf(json.member('name').string(), json.member('dnsName').string())];
}

function readRrset(json: Json) {
  return {
    name: normalName(json.member('name').string()),
    type: json.member('type').string(),
    ttlS: json.optional('ttl')?.number() ?? null,
    /** Null: the RRset has a routing policy instead. */
    values:
      json.optional('routingPolicy') === null
        ? json
            .member('rrdatas')
            .array()
            .map((value) => value.string())
        : null,
  };
}

export const reading: JsonReading = {
  kindOf,
  messageOf: (json) => json.member('error').member('message').string(),
};

function kindOf(json: Json, status: number): ProviderFaultKind | null {
  if (status === 404) return 'zone_not_found';
  if (status !== 403) return null;
  const errors = json.member('error').optional('errors')?.array() ?? [];
  return kinds.get(errors[0]?.optional('reason')?.string() ?? '') ?? 'auth_failed';
}
