import { listed, type NameServerAnswer, type Outcome, type RecordFinding } from '@certwright/issuance';
import type { LookUpResult } from '@certwright/dns-lookup';
import { targetsOf, type WantedDelegation } from '../dns-lookup/standing-delegation';

/** Responses of one name server of a zone to a query for the CNAME record at the record name. */
export interface ServerResults {
  /** `ns1.example.net` */
  readonly server: string;
  /** Why it could not be queried, without a full stop; null: it was queried. */
  readonly problem: string | null;
  /** One for each of its queried addresses. */
  readonly results: readonly LookUpResult[];
}

type Verdict =
  | { readonly kind: 'ours' }
  | { readonly kind: 'absent' | 'silent'; readonly says: NameServerAnswer }
  | { readonly kind: 'other'; readonly says: NameServerAnswer; readonly aliases: readonly string[] };

/**
 * The combined result of the servers of a zone. Every responding address of a server must return the record, and at
 * least one must respond: a silent address is ignored beside a responding one, since a whole address family may be
 * unreachable from this machine, and resolvers try the next address as well. A server without any responding address
 * is waited for, and named.
 */
export function checkNameServers(wanted: WantedDelegation, servers: readonly ServerResults[]): RecordFinding {
  const verdicts = servers.flatMap((server) => verdictsOf(wanted, server));
  const wrong = verdicts.filter((verdict) => verdict.kind !== 'ours');
  const seen = wrong.length < verdicts.length ? 'somewhere' : 'nowhere';
  return {
    seen: verdicts.length > 0 && wrong.length === 0 ? 'everywhere' : seen,
    absent: wrong.some(({ kind }) => kind === 'absent'),
    other: wrong.some(({ kind }) => kind === 'other'),
    problem: wrong.length === 0 ? null : nameServersDiffer(wrong.map(({ says }) => says)),
  };
}

/** The one alias target that every server returns at the record name; null: they differ, or there is none. */
export function commonAlias(wanted: WantedDelegation, servers: readonly ServerResults[]): string | null {
  const verdicts = servers.flatMap((server) => verdictsOf(wanted, server));
  const aliases = new Set(verdicts.flatMap((verdict) => (verdict.kind === 'other' ? verdict.aliases : [''])));
  const [alias = ''] = aliases;
  return aliases.size === 1 && alias !== '' ? alias : null;
}

function verdictsOf(wanted: WantedDelegation, { server, problem, results }: ServerResults): Verdict[] {
  if (problem !== null) {
    return [{ kind: 'silent', says: { kind: 'no_address', server, detail: problem } }];
  }
  const verdicts = results.map((result) => verdictOf(wanted, `${server} (${result.from})`, result));
  const spoken = verdicts.filter(({ kind }) => kind !== 'silent');
  return spoken.length > 0 ? spoken : verdicts.slice(0, 1);
}

function verdictOf({ recordName, target }: WantedDelegation, server: string, result: LookUpResult): Verdict {
  if (result.kind === 'failure') {
    return { kind: 'silent', says: { kind: 'failure', server, failure: result.reason } };
  }
  const aliases = targetsOf('CNAME', recordName, result);
  const delegated = targetsOf('NS', recordName, result);
  // A referral at the exact name is a server's own statement, without authority; anything else does not count.
  if (result.notAuthoritative === true && delegated.length === 0) {
    return { kind: 'silent', says: { kind: 'lame', server } };
  }
  const found = aliases.length > 0 ? aliases : delegated;
  if (found.length === 0) {
    return { kind: 'absent', says: { kind: 'absent', server, nxdomain: result.kind === 'nxdomain' } };
  }
  if (found.every((name) => name === target)) return { kind: 'ours' };
  const type = aliases.length > 0 ? 'CNAME' : 'NS';
  return { kind: 'other', aliases, says: { kind: 'other', server, type, found: listed(found) } };
}

function nameServersDiffer(results: readonly NameServerAnswer[]): Outcome {
  return { code: 'name_servers_differ', servers: listed(results) };
}
