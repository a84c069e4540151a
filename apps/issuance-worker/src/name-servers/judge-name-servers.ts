import { listed, type NameServerAnswer, type Outcome, type RecordFinding } from '@certwright/issuance';
import type { Answer } from '../dns-lookup/answer';
import { targetsOf, type WantedDelegation } from '../dns-lookup/standing-delegation';

/** What one name server of a zone answered, asked for the CNAME record at the record name. */
export interface ServerAnswers {
  /** `ns1.example.net` */
  readonly server: string;
  /** Why it could not be asked, without a full stop; null: it was. */
  readonly problem: string | null;
  /** One for each of its addresses that were asked. */
  readonly answers: readonly Answer[];
}

type Verdict =
  | { readonly kind: 'ours' }
  | { readonly kind: 'absent' | 'silent'; readonly says: NameServerAnswer }
  | { readonly kind: 'other'; readonly says: NameServerAnswer; readonly aliases: readonly string[] };

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
    other: wrong.some(({ kind }) => kind === 'other'),
    problem: wrong.length === 0 ? null : nameServersDiffer(wrong.map(({ says }) => says)),
  };
}

/** The one name that every server has an alias to in the record's place; null: they differ, or it is none. */
export function commonAlias(wanted: WantedDelegation, servers: readonly ServerAnswers[]): string | null {
  const verdicts = servers.flatMap((server) => verdictsOf(wanted, server));
  const aliases = new Set(verdicts.flatMap((verdict) => (verdict.kind === 'other' ? verdict.aliases : [''])));
  const [alias = ''] = aliases;
  return aliases.size === 1 && alias !== '' ? alias : null;
}

function verdictsOf(wanted: WantedDelegation, { server, problem, answers }: ServerAnswers): Verdict[] {
  if (problem !== null) {
    return [{ kind: 'silent', says: { kind: 'no_address', server, detail: problem } }];
  }
  const verdicts = answers.map((answer) => verdictOf(wanted, `${server} (${answer.from})`, answer));
  const spoken = verdicts.filter(({ kind }) => kind !== 'silent');
  return spoken.length > 0 ? spoken : verdicts.slice(0, 1);
}

function verdictOf({ recordName, target }: WantedDelegation, server: string, answer: Answer): Verdict {
  if (answer.kind === 'failure') {
    return { kind: 'silent', says: { kind: 'failure', server, failure: answer.reason } };
  }
  const aliases = targetsOf('CNAME', recordName, answer);
  const delegated = targetsOf('NS', recordName, answer);
  // A referral at the very name is what a server of its zone says of it, without authority; anything else is hearsay.
  if (answer.notAuthoritative === true && delegated.length === 0) {
    return { kind: 'silent', says: { kind: 'lame', server } };
  }
  const found = aliases.length > 0 ? aliases : delegated;
  if (found.length === 0) {
    return { kind: 'absent', says: { kind: 'absent', server, nxdomain: answer.kind === 'nxdomain' } };
  }
  if (found.every((name) => name === target)) return { kind: 'ours' };
  const type = aliases.length > 0 ? 'CNAME' : 'NS';
  return { kind: 'other', aliases, says: { kind: 'other', server, type, found: listed(found) } };
}

function nameServersDiffer(answers: readonly NameServerAnswer[]): Outcome {
  return { code: 'name_servers_differ', servers: listed(answers) };
}
