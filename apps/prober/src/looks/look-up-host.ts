import { isIP } from 'node:net';
import type { LookUp, LookUpResult, ReceivedRecord } from '@certwright/dns-lookup';
import type { LookUpFailure } from '@certwright/dns-names';
import type { HostLook } from '@certwright/endpoint-checks';
import { connectionOrder } from '@certwright/outbound';

export interface LookedUpHost {
  readonly host: string;
  readonly lookUp: HostLook['lookUp'];
  /** In their shortest form, in the order in which visitors try them. */
  readonly addresses: readonly string[];
}

/** CNAME records that are followed; resolvers allow 8 to 16. */
const maxCnames = 16;

/** Queries for one family of addresses: a resolver usually follows the whole chain in one. */
const maxQueries = 4;

type Family = 'A' | 'AAAA';

type FamilyLookUp =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  | { readonly kind: 'none' }
  /** The name that does not exist: the host, or a name that its CNAME records lead to. */
  | { readonly kind: 'absent'; readonly name: string }
  | { readonly kind: 'failed'; readonly failure: LookUpFailure };

/** Looks up every address of a host. Never rejects. */
export async function lookUpHost(host: string, lookUp: LookUp): Promise<LookedUpHost> {
  if (isIP(host) !== 0) return { host, lookUp: { kind: 'found' }, addresses: connectionOrder([host]) };
  const families = await Promise.all([addressesOf(host, 'AAAA', lookUp), addressesOf(host, 'A', lookUp)]);
  const addresses = families.flatMap((family) => (family.kind === 'found' ? family.addresses : []));
  if (addresses.length > 0) return { host, lookUp: { kind: 'found' }, addresses: connectionOrder(addresses) };
  return { host, lookUp: await withoutAddress(host, families, lookUp), addresses: [] };
}

async function withoutAddress(
  host: string,
  families: readonly FamilyLookUp[],
  lookUp: LookUp,
): Promise<HostLook['lookUp']> {
  const failed = families.find((family) => family.kind === 'failed');
  if (failed !== undefined) return failed;
  const absent = families.find((family) => family.kind === 'absent');
  // NXDOMAIN concerns every type (RFC 8020), so a name with an answer for one of them exists.
  if (absent === undefined || families.some(({ kind }) => kind === 'none')) return { kind: 'no_address' };
  return await absentOrDangling(host, absent.name, lookUp);
}

/** NXDOMAIN may be about the end of a chain of CNAME records (RFC 6604, section 3): each of them is looked up. */
async function absentOrDangling(host: string, from: string, lookUp: LookUp): Promise<HostLook['lookUp']> {
  let target = from;
  for (let links = 0; links < maxCnames; links += 1) {
    const result = await lookUp(target, 'CNAME');
    if (result.kind === 'failure') return { kind: 'failed', failure: result.reason };
    const end = result.kind === 'records' ? endOfChain(target, result.answers) : target;
    if (end === target) return target === host ? { kind: 'no_name' } : { kind: 'dangling', target };
    if (end === null) break;
    target = end;
  }
  return brokenChain;
}

async function addressesOf(host: string, family: Family, lookUp: LookUp): Promise<FamilyLookUp> {
  let name = host;
  for (let queries = 0; queries < maxQueries; queries += 1) {
    const result: LookUpResult = await lookUp(name, family);
    if (result.kind === 'failure') return { kind: 'failed', failure: result.reason };
    if (result.kind === 'nxdomain') return { kind: 'absent', name };
    if (result.kind === 'nodata') return { kind: 'none' };
    const end = endOfChain(name, result.answers);
    if (end === null) return brokenChain;
    const addresses = result.answers.flatMap((record) =>
      record.type === family && record.name === end ? [record.data] : [],
    );
    if (addresses.length > 0) return { kind: 'found', addresses };
    if (end === name) return { kind: 'none' };
    // Not every resolver follows a chain into other zones.
    name = end;
  }
  return brokenChain;
}

/** As from a resolver that follows the chain. */
const brokenChain = { kind: 'failed', failure: 'servfail' } as const;

/** Where the CNAME records lead to; the name itself without one; null: in a circle, or too far. */
function endOfChain(name: string, records: readonly ReceivedRecord[]): string | null {
  let end = name;
  for (let links = 0; links <= maxCnames; links += 1) {
    const next = records.find((record) => record.type === 'CNAME' && record.name === end);
    if (next?.type !== 'CNAME') return end;
    end = next.data;
  }
  return null;
}
