import type { RecordType, Zone } from '@certwright/gateway-contract';
import type { ProviderFaultKind } from '../provider-fault';
import { afterChange, ProviderFault } from '../provider-fault';
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
const pageSize = 50;

/**
 * A change is accepted first and applied later, mostly within a second. Poll interval in milliseconds, and number of
 * polls.
 */
const pollRestMs = 250;
const maxPolls = 60;

/**
 * The change did not match the current state, and nothing was applied: removed (404), added by others or changed
 * during the request (409 `uniqueness_error`, `conflict`), locked by another change (423 `locked`).
 */
const staleStatuses = [404, 409, 423];

/** https://docs.hetzner.cloud/reference/cloud#zone-rrsets */
export class HetznerClient implements RrsetPorts {
  readonly write = oneByOne((zone, fqdn, change) => this.writeOne(zone, fqdn, change));
  readonly format = presentationOf;
  readonly normal = normalValue;

  constructor(
    private readonly api: JsonApi,
    private readonly rest: (ms: number) => Promise<void>,
  ) {}

  async zones(): Promise<readonly Zone[]> {
    const zones = await this.all('/zones', 'zones');
    return (
      zones
        // Secondary zones are copies of zones edited elsewhere.
        .filter((zone) => zone.member('mode').string() === 'primary')
        .map((zone) => zoneOf(zone.member('id').id(), zone.member('name').string()))
    );
  }

  async read(zone: Zone, fqdn: string, types: readonly RecordType[]): Promise<readonly Rrset[]> {
    const name = relativeName(fqdn, zone);
    const rrsets = await this.all(path`/zones/${zone.id}/rrsets`, 'rrsets', { name });
    return rrsets
      .filter((rrset) => rrset.member('name').string() === name)
      .flatMap((rrset) => readRrset(rrset))
      .filter(({ type }) => types.includes(type));
  }

  /** Adds and removes single records, so that foreign records stay even when added meanwhile. */
  private async writeOne(zone: Zone, fqdn: string, change: RrsetChange): Promise<WriteOutcome> {
    const actions = path`/zones/${zone.id}/rrsets/${relativeName(fqdn, zone)}/${change.type}/actions`;
    for (const [nth, { action, body }] of stepsOf(change).entries()) {
      const request = {
        method: 'POST',
        path: `${actions}/${action}`,
        body,
        accepted: staleStatuses,
      } as const;
      const { status, json } = await this.api.request(request).catch((error: unknown) => {
        throw nth > 0 ? afterChange(error) : error;
      });
      if (staleStatuses.includes(status)) return 'stale';
      await this.done(json.member('action')).catch((error: unknown) => {
        throw afterChange(error);
      });
    }
    return 'written';
  }

  private async done(accepted: Json): Promise<void> {
    const id = accepted.member('id').id();
    let action = accepted;
    for (let polls = 0; polls < maxPolls; polls += 1) {
      const status = action.member('status').string();
      if (status === 'success') return;
      if (status === 'error') throw new ProviderFault('unavailable', 'Hetzner could not make the change.');
      await this.rest(pollRestMs);
      action = (await this.api.get(path`/actions/${id}`)).member('action');
    }
    throw new ProviderFault('unavailable', 'Hetzner did not finish the change.');
  }

  private all(
    path: string,
    member: string,
    query: Readonly<Record<string, string>> = {},
  ): Promise<readonly Json[]> {
    return allPages<Json, number>(
      'Hetzner',
      1,
      async (page) => {
        const json = await this.api.get(path, { ...query, page, per_page: pageSize });
        const next = json.member('meta').member('pagination').optional('next_page');
        return { items: json.member(member).array(), next: next?.number() ?? null };
      },
      (item) => item.member('id').id(),
    );
  }
}

function readRrset(rrset: Json): readonly Rrset[] {
  const type = rrset.member('type').string();
  if (!isRecordType(type)) return [];
  const values = rrset
    .member('records')
    .array()
    .map((record) => record.member('value').string());
  // Null: the zone's default.
  return [{ type, values, ttlS: rrset.optional('ttl')?.number() ?? null, version: null }];
}

/** Meaning of an error code beyond its status. */
const kinds: ReadonlyMap<string, ProviderFaultKind> = new Map([
  ['token_readonly', 'auth_failed'],
  // Both have status 403: a zone may be protected against changes, and its number of records is limited.
  ['protected', 'rejected'],
  ['resource_limit_exceeded', 'rejected'],
  ['not_found', 'zone_not_found'],
  ['maintenance', 'unavailable'],
]);

export const reading: JsonReading = {
  kindOf(json, status) {
    if (status < 400) return null;
    return kinds.get(json.optional('error')?.optional('code')?.string() ?? '') ?? null;
  },
  messageOf: (json) => json.optional('error')?.optional('message')?.string() ?? null,
};

/** One action on an RRset, and its body. */
interface RrsetStep {
  readonly action: 'add_records' | 'remove_records' | 'set_records' | 'change_ttl';
  readonly body: Readonly<Record<string, unknown>>;
}

/** Seconds, the min TTL of an RRset. */
const minTtlS = 60;

/** The actions that turn the RRset as read into the wanted one. They change only the difference. */
function stepsOf({ before, after }: RrsetChange): readonly RrsetStep[] {
  const old = before?.values ?? [];
  const values = after?.values ?? [];
  const added = records(values.filter((value) => !old.includes(value)));
  const removed = records(old.filter((value) => !values.includes(value)));
  const wantedS = after?.ttlS ?? null;
  const ttl = wantedS === null ? null : Math.max(minTtlS, wantedS);
  if (before === null) {
    // Creates the RRset. A TTL is allowed only here, unless it equals the existing one.
    return [{ action: 'add_records', body: { records: added, ...(ttl === null ? {} : { ttl }) } }];
  }
  const steps: RrsetStep[] = [];
  if (added.length > 0 && removed.length > 0) {
    steps.push({ action: 'set_records', body: { records: records(values) } });
  } else if (added.length > 0) steps.push({ action: 'add_records', body: { records: added } });
  // Removing the last record removes the RRset.
  else if (removed.length > 0) steps.push({ action: 'remove_records', body: { records: removed } });
  if (ttl !== null && ttl !== before.ttlS) steps.push({ action: 'change_ttl', body: { ttl } });
  return steps;
}

const records = (values: readonly string[]): readonly { readonly value: string }[] =>
  values.map((value) => ({ value }));
