import { normalForm, type Answer, type FailureReason, type LookUp, type LookUpOptions } from './answer';

export interface WantedDelegation {
  /** `_acme-challenge.www.example.com` */
  readonly recordName: string;
  /** The name inside the approval zone that carries this tenant's and this name's secret. */
  readonly target: string;
}

export type DelegationFinding =
  | { readonly found: true; readonly by: 'cname' | 'ns' }
  | {
      readonly found: false;
      /** For the person who publishes the record: what was found, and where. */
      readonly problem: string;
      /** Whether nothing was learnt, so that asking again soon may help; otherwise only a change of the zone does. */
      readonly retryable: boolean;
      /**
       * The name is delegated by NS, and the answer names other servers: at a zone cut a recursive resolver answers with
       * the child's own word, while the target stands in the parent's referral. Only the parent's servers can tell.
       */
      readonly delegatedElsewhere?: true;
    };

/** One question of this search, and with its answer one step of it. */
export interface Look {
  readonly name: string;
  readonly type: 'CNAME' | 'NS';
}
export interface LookedAt extends Look {
  readonly answer: Answer;
}

/** CAs follow about as many: a longer chain is a mistake or a trap. */
const CNAME_HOPS = 8;
const NAMES_IN_MESSAGE = 3;

/**
 * Looks until it is decided whether the record name stands delegated to the target. Rejects only when `lookUp` does.
 */
export async function findStandingDelegation(
  lookUp: LookUp,
  wanted: WantedDelegation,
  options?: LookUpOptions,
): Promise<DelegationFinding> {
  const looks: LookedAt[] = [];
  for (;;) {
    const next = nextLook(wanted, looks);
    if ('found' in next) return next;
    looks.push({ ...next, answer: await lookUp(next.name, next.type, options) });
  }
}

/**
 * The next question, or the finding. A CNAME at the record name decides, directly or through a chain; without one,
 * the name servers that the record name itself is delegated to. Ends after at most nine questions.
 */
export function nextLook(wanted: WantedDelegation, looks: readonly LookedAt[]): Look | DelegationFinding {
  const recordName = normalForm(wanted.recordName);
  const target = normalForm(wanted.target);
  const last = looks.at(-1);
  if (last === undefined) return { name: recordName, type: 'CNAME' };
  if (last.answer.kind === 'failure') return failed(recordName, target, last, last.answer.reason);
  if (last.type === 'NS') return judgeNameServers(recordName, target, last.answer);
  const aliases = targetsOf('CNAME', last.name, last.answer);
  const [alias] = aliases;
  if (aliases.length > 1) {
    return no(
      `${last.name} has several CNAME records at ${last.answer.from} (${listed(aliases)}); it may have one`,
    );
  }
  if (alias === target) return { found: true, by: 'cname' };
  if (alias === undefined) return judgeChainEnd(recordName, target, last, looks.length === 1);
  if (looks.some(({ name }) => name === alias)) {
    return no(`the CNAME records of ${recordName} at ${last.answer.from} lead in a circle, over ${alias}`);
  }
  if (looks.length >= CNAME_HOPS) {
    return no(`${recordName} leads over more than ${CNAME_HOPS} CNAME records at ${last.answer.from}`);
  }
  return { name: alias, type: 'CNAME' };
}

function judgeChainEnd(recordName: string, target: string, last: LookedAt, isRecordName: boolean) {
  if (!isRecordName) return no(`${recordName} is a CNAME to ${last.name}, not to ${target}`);
  if (last.answer.kind === 'nxdomain') {
    return no(`${recordName} has no CNAME record at ${last.answer.from} (NXDOMAIN)`);
  }
  return { name: recordName, type: 'NS' } as const;
}

/** Every name server must be ours: any other could answer for the name as well. */
function judgeNameServers(recordName: string, target: string, answer: Answer): DelegationFinding {
  const servers = targetsOf('NS', recordName, answer);
  if (servers.length === 0) return no(`${recordName} has no CNAME and no NS record at ${answer.from}`);
  const others = servers.filter((server) => server !== target);
  if (others.length === 0) return { found: true, by: 'ns' };
  const problem =
    others.length === servers.length
      ? `${recordName} is delegated (NS) to ${listed(others)} at ${answer.from}, not to ${target}`
      : `${recordName} is delegated (NS) to ${target} at ${answer.from}, but to ${listed(others)} as well`;
  return { found: false, problem, retryable: false, delegatedElsewhere: true };
}

/** Distinct targets of the records at exactly this name. A referral has its NS records in the authority section. */
export function targetsOf(type: 'CNAME' | 'NS', owner: string, answer: Answer): string[] {
  if (answer.kind !== 'records') return [];
  const records = type === 'NS' ? [...answer.answers, ...answer.authority] : answer.answers;
  const targets = records.flatMap((record) => {
    const isWanted = (record.type === 'CNAME' || record.type === 'NS') && record.type === type;
    return isWanted && normalForm(record.name) === owner ? [normalForm(record.data)] : [];
  });
  return [...new Set(targets)];
}

/** In words, for messages. */
export const failures: Readonly<
  Record<FailureReason, { readonly words: string; readonly retryable: boolean }>
> = {
  timeout: { words: 'no answer in time', retryable: true },
  unreachable: { words: 'nothing answers there', retryable: true },
  servfail: { words: 'SERVFAIL', retryable: true },
  malformed: { words: 'a malformed answer', retryable: true },
  aborted: { words: 'the look-up was stopped', retryable: true },
  refused: { words: 'REFUSED', retryable: false },
  formerr: { words: 'FORMERR', retryable: false },
  notimp: { words: 'NOTIMP', retryable: false },
  other_rcode: { words: 'an unexpected response code', retryable: true },
  too_large: { words: 'an answer that is too large', retryable: false },
  invalid_name: { words: 'not a name that can be looked up', retryable: false },
};

function failed(
  recordName: string,
  target: string,
  last: LookedAt,
  reason: FailureReason,
): DelegationFinding {
  const { words, retryable } = failures[reason];
  const what = `${last.name} could not be looked up at ${last.answer.from} (${words})`;
  const where =
    last.name === recordName ? '' : `${recordName} is a CNAME to ${last.name}, not to ${target}; `;
  return { found: false, problem: where + what, retryable };
}

function no(problem: string): DelegationFinding {
  return { found: false, problem, retryable: false };
}

export function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_IN_MESSAGE).join(', ');
  return names.length > NAMES_IN_MESSAGE ? `${shown} and ${names.length - NAMES_IN_MESSAGE} more` : shown;
}
