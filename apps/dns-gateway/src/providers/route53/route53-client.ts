import type { RecordType, Zone } from '@certwright/gateway-contract';
import type { DnsRecord, ProviderPorts } from '../dns-provider';
import type { ApiResponse } from '../http/call-api';
import { checkedCall } from '../http/checked-call';
import { allPages } from '../http/pages';
import { path } from '../http/path';
import { ProviderFault } from '../provider-fault';
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
import { awsErrorOf, awsReading } from './aws-responses';
import { changeBatch } from './change-batch';
import { signatureOf } from './role-sessions';
import { type AwsCredentials, awsQuery, signed } from './signature';
import { readXml, type XmlElement } from './xml';

const provider = 'Amazon Route 53';
const base = '/2013-04-01/hostedzone';
/** Route 53 is a global service and is signed for one region. */
const scope = { service: 'route53', region: 'us-east-1' } as const;
/** Max RRsets of one name, far more than there are types. */
const pageSize = '100';

export interface RoleAccess {
  credentials(): Promise<AwsCredentials>;
  /** The session was refused. */
  refused(): void;
}

/** RRsets as XML. A batch is atomic, and its deletions must match exactly: this is the compare-and-swap. */
export class Route53Client implements RrsetPorts {
  constructor(
    private readonly baseUrl: string,
    private readonly access: RoleAccess,
    private readonly ports: ProviderPorts,
    private readonly signal: AbortSignal,
  ) {}

  zones(): Promise<readonly Zone[]> {
    const readPage = async (marker: string) => {
      const query = { maxitems: pageSize, ...(marker === '' ? {} : { marker }) };
      const response = readXml((await this.send('GET', base, query)).text, 'ListHostedZonesResponse');
      const items = response.child('HostedZones').all('HostedZone').flatMap(publicZone);
      return { items, next: isTruncated(response) ? response.child('NextMarker').text() : null };
    };
    return allPages(provider, '', readPage, ({ id }) => id);
  }

  async read(zone: Zone, fqdn: string, types: readonly RecordType[]): Promise<readonly Rrset[]> {
    const readPage = async (from: string) => {
      // The list covers the whole zone, in order, starting at this name and type.
      const query = { name: absolute(fqdn), ...(from === '' ? {} : { type: from }), maxitems: pageSize };
      const { text } = await this.send('GET', path`/2013-04-01/hostedzone/${zone.id}/rrset`, query);
      const response = readXml(text, 'ListResourceRecordSetsResponse');
      const items = response.child('ResourceRecordSets').all('ResourceRecordSet').map(readRrset);
      const more = isTruncated(response) && normalName(response.child('NextRecordName').text()) === fqdn;
      return { items, next: more ? response.child('NextRecordType').text() : null };
    };
    const all = await allPages(provider, '', readPage, ({ name, type, set }) => `${name} ${type} ${set}`);
    return all.flatMap(({ name, type, set, values, ttlS }) => {
      if (name !== fqdn || !isRecordType(type) || !types.includes(type)) return [];
      if (set !== '' || values === null) throw routedConflict(fqdn, type);
      return [{ type, values, ttlS, version: null }];
    });
  }

  async write(zone: Zone, fqdn: string, changes: readonly RrsetChange[]): Promise<WriteOutcome> {
    const where = path`/2013-04-01/hostedzone/${zone.id}/rrset`;
    const response = await this.send('POST', where, {}, changeBatch(fqdn, changes));
    if (response.status === 400) return 'stale';
    readXml(response.text, 'ChangeResourceRecordSetsResponse').child('ChangeInfo').child('Id').text();
    return 'written';
  }

  format(record: DnsRecord): string {
    return presentationOf(record, 'octal');
  }

  normal(type: RecordType, value: string): string {
    return normalValue(type, value, 'octal');
  }

  /** @returns 2xx, or 400 for a batch that does not match the current state */
  private async send(
    method: 'GET' | 'POST',
    where: string,
    query: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<ApiResponse> {
    const credentials = await this.access.credentials();
    const { callApi, now, rest } = this.ports;
    const search = awsQuery(query);
    const typed: Record<string, string> = body === undefined ? {} : { 'content-type': 'text/xml' };
    const request = {
      method,
      url: `${this.baseUrl}${where}${search === '' ? '' : `?${search}`}`,
      headers: typed,
      ...(body === undefined ? {} : { body }),
    };
    const withSignature = signed(request, credentials, scope, now());
    const secrets = [
      credentials.secretAccessKey,
      credentials.sessionToken ?? '',
      signatureOf(withSignature.headers),
    ];
    // Signed once for all attempts: a signature is valid for five minutes, and the attempts take seconds.
    try {
      return await checkedCall(
        // A repeated batch is stale, and a new read shows that it was applied.
        { ...withSignature, secrets, repeatable: true },
        { ...awsReading(provider), accepts: isStale },
        { call: callApi, now, rest, signal: this.signal },
      );
    } catch (error) {
      if (error instanceof ProviderFault && error.kind === 'auth_failed') this.access.refused();
      throw error;
    }
  }
}

/** Messages for: a deletion does not exist or differs; a creation already exists. */
const staleMessage = /but it was not found|do not match the current values|but it already exists/;

function isStale(response: ApiResponse): boolean {
  if (response.status !== 400) return false;
  const error = awsErrorOf(response);
  return error?.code === 'InvalidChangeBatch' && staleMessage.test(error.message);
}

const isTruncated = (response: XmlElement): boolean => response.child('IsTruncated').text() === 'true';

/** Private zones are visible inside a VPC only: no CA would find a record there. */
function publicZone(zone: XmlElement): readonly Zone[] {
  if (zone.optional('Config')?.optional('PrivateZone')?.text() === 'true') return [];
  const id = zone
    .child('Id')
    .text()
    .replace(/^\/hostedzone\//, '');
  return [zoneOf(id, zone.child('Name').text())];
}

function readRrset(rrset: XmlElement) {
  const records = rrset.optional('ResourceRecords')?.all('ResourceRecord') ?? null;
  const ttl = rrset.optional('TTL')?.text();
  return {
    name: normalName(rrset.child('Name').text()),
    type: rrset.child('Type').text(),
    /** For weighted, latency, geolocation and similar RRsets: several of one name and type. */
    set: rrset.optional('SetIdentifier')?.text() ?? '',
    /** Null: an alias. */
    values: records?.map((record) => record.child('Value').text()) ?? null,
    ttlS: ttl === undefined ? null : Number(ttl),
  };
}
