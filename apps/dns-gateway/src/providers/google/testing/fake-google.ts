import { normalName } from '../../records/names';
import type { ApiReply, RecordedRequest } from '../../testing/api-server';
import { plainValue, writtenValue } from '../../testing/written-values';
import { clashes, type FakeRecord, type FakeZone, FakeZones } from '../../testing/fake-zones';

interface RrsetBody {
  readonly name: string;
  readonly type: string;
  readonly ttl: number;
  readonly rrdatas: readonly string[];
}

/** Cloud DNS v1 as documented: RRsets with one TTL each, atomic changes. */
export class FakeGoogle {
  /** Zones per page; a small number produces several pages. */
  readonly pageSize = 3;
  /** RRsets with a routing policy, as `fqdn type`. */
  readonly routed = new Set<string>();
  /** The reason of the 403 for every request. */
  refusal: string | null = null;
  #changes = 0;

  constructor(
    readonly zones: FakeZones,
    private readonly project: string,
    private readonly isToken: (token: string) => boolean,
  ) {}

  readonly respond = (request: RecordedRequest): ApiReply => {
    const token = /^Bearer (.+)$/.exec(request.headers['authorization'] ?? '')?.[1] ?? '';
    if (!this.isToken(token)) return failure(401, 'authError', 'Invalid Credentials');
    if (this.refusal !== null) return failure(403, this.refusal, 'No.');
    const base = `/dns/v1/projects/${this.project}/managedZones`;
    if (request.path === base) return this.managedZones(request);
    const [, name = '', what] = request.path.startsWith(base)
      ? (/^\/([^/]+)\/(rrsets|changes)$/.exec(request.path.slice(base.length)) ?? [])
      : [];
    const zone = this.zones.byId(name);
    if (zone === undefined) return failure(404, 'notFound', `The resource named '${name}' does not exist.`);
    return what === 'rrsets' ? this.rrsets(zone, request) : this.change(zone, JSON.parse(request.body));
  };

  private managedZones({ query }: RecordedRequest): ApiReply {
    const start = Number(query.get('pageToken') ?? 0);
    const next = start + this.pageSize;
    const managedZones = this.zones.all.slice(start, next).map(({ id, name }) => ({
      kind: 'dns#managedZone',
      name: id,
      dnsName: `${name}.`,
      id: '1234567890123456789',
      visibility: name.startsWith('private') ? 'private' : 'public',
    }));
    const more = next < this.zones.all.length ? { nextPageToken: String(next) } : {};
    return { status: 200, body: { kind: 'dns#managedZonesListResponse', managedZones, ...more } };
  }

  private rrsets(zone: FakeZone, { query }: RecordedRequest): ApiReply {
    const [name, type] = [query.get('name'), query.get('type')];
    const rrsets = this.rrsetsOf(zone).filter(
      (rrset) => (name === null || rrset.name === name) && (type === null || rrset.type === type),
    );
    const shown = rrsets.map(({ rrdatas, ...rrset }) =>
      this.routed.has(`${normalName(rrset.name)} ${rrset.type}`)
        ? { ...rrset, routingPolicy: { wrr: { items: [{ weight: 1, rrdatas }] } } }
        : { ...rrset, rrdatas },
    );
    return { status: 200, body: { kind: 'dns#resourceRecordSetsListResponse', rrsets: shown } };
  }

  private rrsetsOf(zone: FakeZone): readonly RrsetBody[] {
    const grouped = Map.groupBy(zone.records, ({ fqdn, type }) => `${fqdn}. ${type}`);
    return [...grouped.values()].map((records) => rrsetOf(records));
  }

  private change(
    zone: FakeZone,
    change: { readonly additions: readonly RrsetBody[]; readonly deletions: readonly RrsetBody[] },
  ): ApiReply {
    const there = this.rrsetsOf(zone);
    const isThere = (wanted: RrsetBody): boolean => there.some((rrset) => isSame(rrset, wanted));
    const gone = change.deletions.find(
      ({ name, type }) => !there.some((rrset) => rrset.name === name && rrset.type === type),
    );
    if (gone !== undefined) return failure(404, 'notFound', `The resource '${gone.name}' does not exist.`);
    const missing = change.deletions.findIndex((rrset) => !isThere(rrset));
    if (missing >= 0)
      return failure(412, 'conditionNotMet', `Precondition not met for 'deletions[${missing}]'`);
    const left = there.filter((rrset) => !change.deletions.some((gone) => isSame(gone, rrset)));
    for (const rrset of change.additions) {
      const others = left.filter(({ name }) => name === rrset.name);
      if (others.some(({ type }) => type === rrset.type))
        return failure(409, 'alreadyExists', 'already exists');
      if (clashes(rrset.type, others))
        return failure(400, 'cnameResourceRecordSetConflict', 'a CNAME conflicts');
    }
    zone.records = [];
    for (const { name, type, ttl, rrdatas } of [...left, ...change.additions]) {
      for (const value of rrdatas) {
        this.zones.add(zone, { fqdn: normalName(name), type, value: plainValue(type, value), ttl });
      }
    }
    this.#changes += 1;
    return {
      status: 200,
      body: { kind: 'dns#change', id: String(this.#changes), status: 'pending', ...change },
    };
  }
}

function rrsetOf(records: readonly FakeRecord[]): RrsetBody {
  const [first] = records;
  if (first === undefined) throw new Error('An RRset has a record.');
  const rrdatas = records.map(({ value }) => writtenValue(first.type, value));
  return { name: `${first.fqdn}.`, type: first.type, ttl: first.ttl, rrdatas };
}

const isSame = (one: RrsetBody, other: RrsetBody): boolean =>
  one.name === other.name &&
  one.type === other.type &&
  one.ttl === other.ttl &&
  JSON.stringify([...one.rrdatas].sort()) === JSON.stringify([...other.rrdatas].sort());

const failure = (code: number, reason: string, message: string): ApiReply => ({
  status: code,
  body: { error: { code, message, errors: [{ domain: 'global', reason, message }] } },
});
