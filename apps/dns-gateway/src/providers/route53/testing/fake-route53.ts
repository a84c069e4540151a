import { normalName } from '../../records/names';
import type { ApiReply, RecordedRequest } from '../../testing/api-server';
import { clashes, type FakeRecord, type FakeZone, FakeZones } from '../../testing/fake-zones';
import { plainValue, writtenValue } from '../../testing/written-values';
import { readXml, type XmlElement } from '../xml';
import { type AwsCredentials, signed, type SigningScope } from '../signature';

export interface FakeRole {
  /** Null: the role's trust policy requires none. */
  readonly externalId: string | null;
}

interface PlainRrset {
  readonly name: string;
  readonly type: string;
  readonly ttl: number;
  readonly values: readonly string[];
  /** For a routing policy. */
  readonly set?: string;
}

const operatorKeys = {
  accessKeyId: 'AKIAOPERATOR',
  secretAccessKey: 'planted-operator-secret',
  sessionToken: null,
};
const roleKeys = {
  accessKeyId: 'ASIAROLE',
  secretAccessKey: 'planted-role-secret-key',
  sessionToken: 'planted-session-token',
};

/** STS's AssumeRole and Route 53 as documented; every signature is verified. */
export class FakeRoute53 {
  /** By ARN. */
  readonly roles = new Map<string, FakeRole>();
  readonly routed: PlainRrset[] = [];
  assumed = 0;
  /** Zones and RRsets per page. */
  readonly pageSize = 3;

  constructor(
    readonly zones: FakeZones,
    private readonly now: () => Date,
  ) {}

  readonly respond = (request: RecordedRequest): ApiReply => {
    if (request.path === '/sts/') return this.assumeRole(request);
    if (!isSigned(request, roleKeys, { service: 'route53', region: 'us-east-1' })) {
      return failure(403, 'SignatureDoesNotMatch', 'The request signature we calculated does not match.');
    }
    const [, zoneId] = /^\/2013-04-01\/hostedzone(?:\/([^/]+)\/rrset)?$/.exec(request.path) ?? [];
    if (zoneId === undefined) return this.listZones(request);
    const zone = this.zones.byId(zoneId);
    if (zone === undefined)
      return failure(404, 'NoSuchHostedZone', `No hosted zone found with ID: ${zoneId}`);
    return request.method === 'GET' ? this.listRrsets(zone, request) : this.change(zone, request.body);
  };

  private assumeRole(request: RecordedRequest): ApiReply {
    if (!isSigned(request, operatorKeys, { service: 'sts', region: 'eu-central-1' })) {
      return failure(403, 'SignatureDoesNotMatch', 'The request signature we calculated does not match.');
    }
    const form = new URLSearchParams(request.body);
    const role = this.roles.get(form.get('RoleArn') ?? '');
    if (role === undefined || (role.externalId !== null && role.externalId !== form.get('ExternalId'))) {
      return failure(403, 'AccessDenied', 'User is not authorized to perform: sts:AssumeRole');
    }
    this.assumed += 1;
    const expiration = new Date(this.now().getTime() + Number(form.get('DurationSeconds')) * 1000);
    return xml(
      'AssumeRoleResponse',
      `<AssumeRoleResult><Credentials><AccessKeyId>${roleKeys.accessKeyId}</AccessKeyId>` +
        `<SecretAccessKey>${roleKeys.secretAccessKey}</SecretAccessKey>` +
        `<SessionToken>${roleKeys.sessionToken}</SessionToken>` +
        `<Expiration>${expiration.toISOString().replace(/\.\d+/, '')}</Expiration></Credentials></AssumeRoleResult>`,
    );
  }

  private listZones({ query }: RecordedRequest): ApiReply {
    const start = Math.max(
      0,
      this.zones.all.findIndex(({ id }) => id === query.get('marker')),
    );
    const next = this.zones.all[start + this.pageSize];
    const zones = this.zones.all
      .slice(start, start + this.pageSize)
      .map(
        ({ id, name }) =>
          `<HostedZone><Id>/hostedzone/${id}</Id><Name>${name}.</Name><CallerReference>x</CallerReference>` +
          `<Config><PrivateZone>${name.startsWith('private')}</PrivateZone></Config></HostedZone>`,
      );
    const more = next === undefined ? '' : `<NextMarker>${next.id}</NextMarker>`;
    return xml(
      'ListHostedZonesResponse',
      `<HostedZones>${zones.join('')}</HostedZones><IsTruncated>${next !== undefined}</IsTruncated>${more}` +
        '<MaxItems>100</MaxItems>',
    );
  }

  private listRrsets(zone: FakeZone, { query }: RecordedRequest): ApiReply {
    const from = orderOf(query.get('name') ?? '', query.get('type') ?? '');
    const all = this.rrsetsOf(zone)
      .filter(({ name, type }) => orderOf(name, type) >= from)
      .sort((one, other) => (orderOf(one.name, one.type) < orderOf(other.name, other.type) ? -1 : 1));
    const next = all[this.pageSize];
    const more =
      next === undefined
        ? ''
        : `<NextRecordName>${next.name}</NextRecordName><NextRecordType>${next.type}</NextRecordType>`;
    return xml(
      'ListResourceRecordSetsResponse',
      `<ResourceRecordSets>${all.slice(0, this.pageSize).map(rrsetXml).join('')}</ResourceRecordSets>` +
        `<IsTruncated>${next !== undefined}</IsTruncated>${more}<MaxItems>100</MaxItems>`,
    );
  }

  private rrsetsOf(zone: FakeZone): readonly PlainRrset[] {
    const grouped = Map.groupBy(zone.records, ({ fqdn, type }) => `${fqdn} ${type}`);
    return [...[...grouped.values()].map(rrsetOf), ...this.routed];
  }

  private change(zone: FakeZone, body: string): ApiReply {
    const changes = readXml(body, 'ChangeResourceRecordSetsRequest')
      .child('ChangeBatch')
      .child('Changes')
      .all('Change')
      .map((change) => ({ action: change.child('Action').text(), rrset: readRrset(change) }));
    let left = this.rrsetsOf(zone);
    for (const { action, rrset } of changes) {
      const [there] = left.filter(({ name, type }) => name === rrset.name && type === rrset.type);
      const named = `[name='${rrset.name}', type='${rrset.type}']`;
      if (action === 'DELETE') {
        if (there === undefined)
          return invalid(`Tried to delete resource record set ${named} but it was not found`);
        if (!isSame(there, rrset)) {
          return invalid(
            `Tried to delete resource record set ${named} but the values provided do not match the current values`,
          );
        }
        left = left.filter((one) => one !== there);
        continue;
      }
      if (there !== undefined)
        return invalid(`Tried to create resource record set ${named} but it already exists`);
      const others = left.filter(({ name }) => name === rrset.name);
      if (clashes(rrset.type, others)) {
        return invalid(`RRSet of type ${rrset.type} with DNS name ${rrset.name} is not permitted`);
      }
      left = [...left, rrset];
    }
    zone.records = [];
    for (const { name, type, ttl, values } of left.filter(({ set }) => set === undefined)) {
      for (const value of values) {
        this.zones.add(zone, { fqdn: normalName(name), type, value: plainValue(type, value, 'octal'), ttl });
      }
    }
    return xml(
      'ChangeResourceRecordSetsResponse',
      '<ChangeInfo><Id>/change/C2682N5HXP0BZ4</Id><Status>PENDING</Status>' +
        '<SubmittedAt>2026-11-01T00:00:00Z</SubmittedAt></ChangeInfo>',
    );
  }
}

/** By labels from the right, the sort order of Route 53. */
const orderOf = (name: string, type: string): string =>
  `${name.split('.').reverse().join('\u0001')}\u0000${type}`;

function rrsetOf(records: readonly FakeRecord[]): PlainRrset {
  const [first] = records;
  if (first === undefined) throw new Error('An RRset has a record.');
  const { fqdn, type, ttl } = first;
  return { name: `${fqdn}.`, type, ttl, values: records.map(({ value }) => writtenValue(type, value)) };
}

function readRrset(change: XmlElement): PlainRrset {
  const rrset = change.child('ResourceRecordSet');
  const records = rrset.child('ResourceRecords').all('ResourceRecord');
  return {
    name: rrset.child('Name').text(),
    type: rrset.child('Type').text(),
    ttl: Number(rrset.child('TTL').text()),
    values: records.map((record) => record.child('Value').text()),
  };
}

const rrsetXml = ({ name, type, ttl, values, set }: PlainRrset): string =>
  `<ResourceRecordSet><Name>${escaped(name.replace(/\*/g, '\\052'))}</Name><Type>${type}</Type>` +
  (set === undefined ? '' : `<SetIdentifier>${set}</SetIdentifier><Weight>10</Weight>`) +
  `<TTL>${ttl}</TTL><ResourceRecords>` +
  values.map((value) => `<ResourceRecord><Value>${escaped(value)}</Value></ResourceRecord>`).join('') +
  '</ResourceRecords></ResourceRecordSet>';

const isSame = (one: PlainRrset, other: PlainRrset): boolean =>
  one.ttl === other.ttl &&
  JSON.stringify([...one.values].sort()) === JSON.stringify([...other.values].sort());

const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

const xml = (root: string, inner: string): ApiReply => ({
  status: 200,
  headers: { 'content-type': 'text/xml' },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="https://route53.amazonaws.com/doc/2013-04-01/">${inner}</${root}>`,
});

const invalid = (message: string): ApiReply => failure(400, 'InvalidChangeBatch', `[${message}]`);

const failure = (status: number, code: string, message: string): ApiReply => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body:
    '<?xml version="1.0"?>\n<ErrorResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/">' +
    `<Error><Type>Sender</Type><Code>${code}</Code><Message>${escaped(message)}</Message></Error>` +
    '<RequestId>b25f48e8-84fd-11e6-80d9-574e0c4664cb</RequestId></ErrorResponse>',
});

/** Whether a received request is signed with these keys: signs the received content again and compares. */
function isSigned(request: RecordedRequest, keys: AwsCredentials, scope: SigningScope): boolean {
  const given = request.headers;
  const time = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(given['x-amz-date'] ?? '');
  if (time === null) return false;
  const [, year, month, day, hour, minute, second] = time;
  const names = /SignedHeaders=([^,]+)/.exec(given['authorization'] ?? '')?.[1]?.split(';') ?? [];
  const kept = names.filter((name) => name !== 'host' && !name.startsWith('x-amz-'));
  // The path as seen by the client, including the prefix of the local server.
  const search = [...request.query].map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  const again = signed(
    {
      method: request.method as 'GET',
      url: `http://${given['host']}${request.path}${search === '' ? '' : `?${search}`}`,
      headers: Object.fromEntries(kept.map((name) => [name, given[name] ?? ''])),
      body: request.body,
    },
    keys,
    scope,
    new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`),
  );
  return again.headers['authorization'] === given['authorization'];
}

const encode = (text: string): string => encodeURIComponent(text).replace(/\*/g, '%2A');
