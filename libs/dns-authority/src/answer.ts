import { QTYPE, RCODE, STORED_TYPE, isMetaType, storedTypeOf, type Rcode } from './codes';
import { isAtOrBelow, pathBelow, type DnsName } from './name';
import { recordsOfType, type RecordOf, type ZoneRecord } from './record';
import { isInternet, type Question } from './request';
import { type ZoneSlice } from './source';

/** The minimal answer to ANY (RFC 8482 section 4.2). */
export interface AnyAnswer {
  readonly name: DnsName;
  readonly type: 'HINFO';
  readonly ttl: number;
  readonly data: { readonly cpu: string; readonly os: string };
}

export interface Reply {
  readonly rcode: Rcode;
  readonly authoritative: boolean;
  readonly answers: readonly (ZoneRecord | AnyAnswer)[];
  readonly authority: readonly ZoneRecord[];
  readonly additional: readonly ZoneRecord[];
}

/** Either the reply, or the name whose slice must be read first. */
export type Outcome =
  { readonly kind: 'reply'; readonly reply: Reply } | { readonly kind: 'read'; readonly name: DnsName };

/** Slices read so far, by the name they were read for; `null` when no zone holds that name. */
export type SlicesRead = ReadonlyMap<DnsName, ZoneSlice | null>;

/** Maximum length of a CNAME chain; resolvers query the rest. */
const CNAME_HOPS = 8;
/** Seconds. RFC 8482 does not specify it; an hour limits repeated ANY queries. */
const ANY_TTL_S = 3600;

/** A reply without records. */
export function bareReply(rcode: Rcode): Reply {
  return { rcode, authoritative: false, answers: [], authority: [], additional: [] };
}

/**
 * The reply of an authoritative server (RFC 1034 section 4.3.2). Pure: returns the name of a missing slice, and is
 * called again with it. CNAMEs are followed through all zones of the source, since a client may use this server as
 * its resolver for them.
 */
export function answer(question: Question, slices: SlicesRead): Outcome {
  const refusal = refusalOf(question);
  if (refusal !== undefined) return done(bareReply(refusal));
  const chain: RecordOf<'CNAME'>[] = [];
  for (let name = question.name; ;) {
    const slice = slices.get(name);
    if (slice === undefined) return { kind: 'read', name };
    if (slice === null) {
      return done(chain.length === 0 ? bareReply(RCODE.REFUSED) : positive(chain));
    }
    const found = lookAt(slice, name, question.type);
    switch (found.kind) {
      case 'referral':
        return referral(chain, found.servers, slice, slices);
      case 'missing':
        return done(negative(RCODE.NXDOMAIN, chain, slice));
      case 'nodata':
        return done(negative(RCODE.NOERROR, chain, slice));
      case 'records':
        return done(positive([...chain, ...found.records]));
      case 'alias':
        chain.push(found.record);
        name = found.record.data;
        // Also detects loops.
        if (chain.length > CNAME_HOPS || chain.some((link) => link.name === name))
          return done(positive(chain));
    }
  }
}

function refusalOf(question: Question): Rcode | undefined {
  if (!isInternet(question)) return RCODE.REFUSED;
  if (question.type === QTYPE.AXFR || question.type === QTYPE.IXFR) return RCODE.REFUSED;
  return isMetaType(question.type) && question.type !== QTYPE.ANY ? RCODE.NOTIMP : undefined;
}

type Found =
  | { readonly kind: 'records'; readonly records: readonly (ZoneRecord | AnyAnswer)[] }
  | { readonly kind: 'alias'; readonly record: RecordOf<'CNAME'> }
  | { readonly kind: 'referral'; readonly servers: readonly RecordOf<'NS'>[] }
  | { readonly kind: 'missing' | 'nodata' };

function lookAt(slice: ZoneSlice, name: DnsName, type: number): Found {
  for (const step of pathBelow(slice.apex, name)) {
    // The parent side of a zone cut answers for DS itself (RFC 4035 section 3.1.4.1).
    if (step === name && type === QTYPE.DS) break;
    const servers = recordsOfType(slice.recordsAt(step) ?? [], 'NS');
    if (servers.length > 0) return { kind: 'referral', servers };
  }
  const records = slice.recordsAt(name);
  if (records === undefined) return { kind: 'missing' };
  const [alias] = recordsOfType(records, 'CNAME');
  if (type === QTYPE.ANY && records.length > 0) {
    return { kind: 'records', records: alias === undefined ? [anyAnswer(name)] : [alias] };
  }
  if (alias !== undefined && type !== STORED_TYPE.CNAME) return { kind: 'alias', record: alias };
  const wanted = storedTypeOf(type);
  const matching = wanted === undefined ? [] : recordsOfType(records, wanted);
  return matching.length > 0 ? { kind: 'records', records: matching } : { kind: 'nodata' };
}

function anyAnswer(name: DnsName): AnyAnswer {
  return { name, type: 'HINFO', ttl: ANY_TTL_S, data: { cpu: 'RFC8482', os: '' } };
}

function done(reply: Reply): Outcome {
  return { kind: 'reply', reply };
}

function positive(answers: readonly (ZoneRecord | AnyAnswer)[]): Reply {
  return { ...bareReply(RCODE.NOERROR), authoritative: true, answers };
}

/** RFC 2308 sections 3 and 5: the negative TTL is the smaller of the SOA's TTL and its minimum. */
function negative(rcode: Rcode, chain: readonly ZoneRecord[], slice: ZoneSlice): Reply {
  const authority = recordsOfType(slice.recordsAt(slice.apex) ?? [], 'SOA').map((soa) => ({
    ...soa,
    ttl: Math.min(soa.ttl, soa.data.minimum),
  }));
  return { rcode, authoritative: true, answers: chain, authority, additional: [] };
}

/** A delegation: not authoritative, so no AA unless a CNAME of ours led here; includes addresses of in-zone servers. */
function referral(
  chain: readonly ZoneRecord[],
  servers: readonly RecordOf<'NS'>[],
  slice: ZoneSlice,
  slices: SlicesRead,
): Outcome {
  const additional: ZoneRecord[] = [];
  for (const { data: server } of servers) {
    if (!isAtOrBelow(server, slice.apex)) continue;
    const held = slices.get(server);
    if (held === undefined) return { kind: 'read', name: server };
    const records = held?.recordsAt(server) ?? [];
    additional.push(...recordsOfType(records, 'A'), ...recordsOfType(records, 'AAAA'));
  }
  const authoritative = chain.length > 0;
  return done({ rcode: RCODE.NOERROR, authoritative, answers: chain, authority: servers, additional });
}
