import type { Zone } from '@certwright/gateway-contract';
import type { DnsRecord } from '../dns-provider';
import type { Json } from '../http/json';
import type { JsonApi, JsonReading } from '../http/json-api';
import { path } from '../http/path';
import { ProviderFault, type ProviderFaultKind } from '../provider-fault';
import { fqdnOf, relativeName, zoneOf } from '../records/names';
import { normalValue, presentationOf } from '../records/presentation';
import { isRecordType, type StoredRecord } from '../records/record-changes';
import { eitherTxt } from '../records/txt-value';
import type { PublishingPorts } from './published-changes';

/** Seconds; 0 is the zone's default. */
const minTtlS = 60;

/** Max records at one name, which are fetched one by one; no real name has more. */
const maxRecords = 200;

/** https://eu.api.ovh.com/console/?section=%2Fdomain */
export class OvhClient implements PublishingPorts {
  constructor(private readonly api: JsonApi) {}

  /** The API has no pages. */
  async zones(): Promise<readonly Zone[]> {
    const names = await this.api.get('/domain/zone');
    return names.array().map((name) => zoneOf(name.string(), name.string()));
  }

  async list(zone: Zone, fqdn: string): Promise<readonly StoredRecord[]> {
    const ids = await this.api.get(records(zone), { subDomain: nameIn(zone, fqdn) });
    const found = ids.array().map((id) => id.id());
    if (found.length > maxRecords) {
      throw new ProviderFault('rejected', `There are more than ${maxRecords} records at ${fqdn}.`);
    }
    const stored: StoredRecord[] = [];
    for (const id of found) {
      const { status, json } = await this.api.request({
        method: 'GET',
        path: record(zone, id),
        accepted: [404],
      });
      // The filter also matches similar names: `_` matches any character. A record may be removed meanwhile.
      if (status !== 404 && fqdnOf(json.optional('subDomain')?.string() ?? '', zone) === fqdn) {
        stored.push(...readRecord(json));
      }
    }
    return stored;
  }

  async create(zone: Zone, wanted: DnsRecord): Promise<StoredRecord | undefined> {
    const { type, ttlS } = wanted;
    const { json } = await this.api.request({
      method: 'POST',
      path: records(zone),
      body: {
        fieldType: type,
        subDomain: nameIn(zone, wanted.fqdn),
        target: presentationOf(wanted),
        ...(ttlS === null ? {} : { ttl: Math.max(minTtlS, ttlS) }),
      },
    });
    return readRecord(json)[0];
  }

  async delete(zone: Zone, { id }: StoredRecord): Promise<void> {
    await this.api.request({
      method: 'DELETE',
      path: record(zone, id),
      // Ids are never reused, so a repeated deletion changes nothing.
      repeatable: true,
      accepted: [404],
    });
  }

  async publish(zone: Zone): Promise<void> {
    await this.api.request({ method: 'POST', path: path`/domain/zone/${zone.id}/refresh`, repeatable: true });
  }
}

const records = (zone: Zone): string => path`/domain/zone/${zone.id}/record`;
const record = (zone: Zone, id: string): string => path`/domain/zone/${zone.id}/record/${id}`;

/** The apex is the empty name. */
const nameIn = (zone: Zone, fqdn: string): string => (fqdn === zone.name ? '' : relativeName(fqdn, zone));

function readRecord(json: Json): readonly StoredRecord[] {
  const type = json.member('fieldType').string();
  if (!isRecordType(type)) return [];
  const target = json.member('target').string();
  // Records created in the control panel may lack quotes.
  const value = type === 'TXT' ? eitherTxt(target) : normalValue(type, target);
  return [{ id: json.member('id').id(), type, value }];
}

/** Meaning of an error code beyond its status. */
const kinds: ReadonlyMap<string, ProviderFaultKind> = new Map([
  ['INVALID_SIGNATURE', 'auth_failed'],
  ['INVALID_KEY', 'auth_failed'],
  ['INVALID_CREDENTIAL', 'auth_failed'],
  // One clock jumped; the next session reads the server's time again.
  ['QUERY_TIME_OUT', 'unavailable'],
]);

export const reading: JsonReading = {
  kindOf(json, status) {
    if (status < 400) return null;
    const code = kinds.get(json.optional('errorCode')?.string() ?? '');
    return code ?? (status === 404 ? 'zone_not_found' : null);
  },
  messageOf: (json) => json.optional('message')?.string() ?? null,
};
