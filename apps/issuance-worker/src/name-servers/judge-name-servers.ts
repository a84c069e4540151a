import type { RecordFinding } from '@certwright/issuance';
import type { Answer } from '../dns-lookup/answer';
import { failures, listed, targetsOf, type WantedDelegation } from '../dns-lookup/standing-delegation';

/** What one name server of a zone answered, asked for the CNAME record at the record name. */
export interface ServerAnswers {
  /** `ns1.example.net` */
  readonly server: string;
  /** Why it could not be asked, as a clause; null: it was. */
  readonly problem: string | null;
  /** One for each of its addresses that were asked. */
  readonly answers: readonly Answer[];
}

type Verdict =
  | { readonly kind: 'ours' }
  | { readonly kind: 'absent' | 'silent'; readonly clause: string }
  | { readonly kind: 'other'; readonly clause: string; readonly aliases: readonly string[] };

/**
 * What the servers of a zone say, taken together. Of a server every address that answers must answer with the record,
 * and one must answer: an address that is silent counts for nothing beside one that is not, since a whole address
 * family may be out of this machine's reach, and resolvers go on to the next address as well. A server none of whose
 * addresses answers is waited for, and named.
 */
export function judgeNameServers(wanted: WantedDelegation, servers: readonly ServerAnswers[]): RecordFinding {
  const verdicts = servers.flatMap((server) => verdictsOf(wanted, server));
  const wrong = verdicts.filter((verdict) => verdict.kind !== 'ours');
  const seen = wrong.length < verdicts.length ? 'somewhere' : 'nowhere';
  return {
    seen: verdicts.length > 0 && wrong.length === 0 ? 'everywhere' : seen,
    absent: wrong.some(({ kind }) => kind === 'absent'),
    other: wrong.find(({ kind }) => kind === 'other')?.clause ?? null,
    problem: sentence(wrong.map(({ clause }) => clause)),
  };
}

/** The one name that every server has an alias to in the record's place; null: they differ, or it is none. */
export function commonAlias(wanted: WantedDelegation, servers: readonly ServerAnswers[]): string | null {
  const verdicts = servers.flatMap((server) => verdictsOf(wanted, server));
  const aliases = new Set(verdicts.flatMap((verdict) => (verdict.kind === 'other' ? verdict.aliases : [''])));
  const [alias = ''] = aliases;
  return aliases.size === 1 && alias !== '' ? alias : null;
}

/** A zone about whose servers nothing is known. */
export function unknownNameServers(clause: string): RecordFinding {
  return { seen: 'nowhere', absent: false, other: null, problem: sentence([clause]) };
}

function verdictsOf(wanted: WantedDelegation, { server, problem, answers }: ServerAnswers): Verdict[] {
  if (problem !== null) return [{ kind: 'silent', clause: `${server} cannot be asked (${problem})` }];
  const verdicts = answers.map((answer) => verdictOf(wanted, `${server} (${answer.from})`, answer));
  const spoken = verdicts.filter(({ kind }) => kind !== 'silent');
  return spoken.length > 0 ? spoken : verdicts.slice(0, 1);
}

function verdictOf({ recordName, target }: WantedDelegation, server: string, answer: Answer): Verdict {
  if (answer.kind === 'failure') {
    return {
      kind: 'silent',
      clause: `${server} does not answer for the zone (${failures[answer.reason].words})`,
    };
  }
  const aliases = targetsOf('CNAME', recordName, answer);
  const delegated = targetsOf('NS', recordName, answer);
  // A referral at the very name is what a server of its zone says of it, without authority; anything else is hearsay.
  if (answer.notAuthoritative === true && delegated.length === 0) {
    return { kind: 'silent', clause: `${server} is lame: it answers, but not as an authority for the zone` };
  }
  const found = aliases.length > 0 ? aliases : delegated;
  if (found.length === 0) {
    const words = answer.kind === 'nxdomain' ? 'NXDOMAIN' : 'no record';
    return { kind: 'absent', clause: `${server} does not answer with it yet (${words})` };
  }
  if (found.every((name) => name === target)) return { kind: 'ours' };
  const what = aliases.length > 0 ? 'a CNAME' : 'a delegation (NS)';
  return { kind: 'other', aliases, clause: `${server} answers with ${what} to ${listed(found)} instead` };
}

const serversInMessage = 3;

function sentence(clauses: readonly string[]): string {
  if (clauses.length === 0) return '';
  const more = clauses.length - serversInMessage;
  const shown = clauses.slice(0, serversInMessage).join('; ');
  return more > 0 ? `${shown}; and ${more} more.` : `${shown}.`;
}
