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

/** Either the reply, or the name whose slice must be read before there can be one. */
export type Outcome =
  { readonly kind: 'reply'; readonly reply: Reply } | { readonly kind: 'read'; readonly name: DnsName };

/** Slices read so far, by the name they were read for; `null` when no zone holds that name. */
export type SlicesRead = ReadonlyMap<DnsName, ZoneSlice | null>;

/** A longer chain is handed out as far as it got; the resolver asks for the rest. */
const CNAME_HOPS = 8;
/** Seconds; RFC 8482 leaves it open. An hour keeps those who insist on ANY from asking again soon. */
const ANY_TTL_S = 3600;

/** An answer without records: an error, or a NOTIMP. */
export function bareReply(rcode: Rcode): Reply {
  return { rcode, authoritative: false, answers: [], authority: [], additional: [] };
}

/**
 * What an authoritative server says to a question (RFC 1034 section 4.3.2). Pure: where a slice is missing it names
 * it, is called again with it, and comes to the same point. CNAMEs are followed through every zone the source holds,
 * since a caller may use this server as its resolver for them.
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
        // A loop ends here too: every name of it is already in the chain.
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

/** RFC 2308 sections 3 and 5: the SOA says for how long to remember it, the smaller of its TTL and its minimum. */
function negative(rcode: Rcode, chain: readonly ZoneRecord[], slice: ZoneSlice): Reply {
  const authority = recordsOfType(slice.recordsAt(slice.apex) ?? [], 'SOA').map((soa) => ({
    ...soa,
    ttl: Math.min(soa.ttl, soa.data.minimum),
  }));
  return { rcode, authoritative: true, answers: chain, authority, additional: [] };
}

/**
 * A delegation: not our word any more, so no AA unless a CNAME of ours led here; addresses of in-zone servers go
 * along.
 */
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
