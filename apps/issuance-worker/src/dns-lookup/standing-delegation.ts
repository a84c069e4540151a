import type { LookUpFailure } from '@certwright/dns-names';
import { listed, type Outcome } from '@certwright/issuance';
import { normalForm, type LookUpResult, type LookUp, type LookUpOptions } from '@certwright/dns-lookup';

export interface WantedDelegation {
  /** `_acme-challenge.www.example.com` */
  readonly recordName: string;
  /** The name inside the approval zone that contains the secret of this tenant and name. */
  readonly target: string;
}

export type DelegationFinding =
  | { readonly found: true; readonly by: 'cname' | 'ns' }
  | {
      readonly found: false;
      /** What was found, and where. */
      readonly problem: Outcome;
      /** True: no result, so that a retry soon may help; false: only a change of the zone helps. */
      readonly retryable: boolean;
      /**
       * The name is delegated by NS, and the response names other servers: at a zone cut a recursive resolver returns
       * the child's NS records, while the target is in the parent's referral. Only the parent's servers can show it.
       */
      readonly delegatedElsewhere?: true;
    };

/** One query of this search; with its response, one step. */
export interface Look {
  readonly name: string;
  readonly type: 'CNAME' | 'NS';
}
export interface LookedAt extends Look {
  readonly result: LookUpResult;
}

/** CAs follow about as many: a longer chain is a mistake or an attack. */
const CNAME_HOPS = 8;

/**
 * Searches until it is decided whether the record name is delegated to the target. Rejects only when `lookUp` does.
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
    looks.push({ ...next, result: await lookUp(next.name, next.type, options) });
  }
}

/**
 * The next query, or the finding. A CNAME at the record name decides, directly or through a chain; without one,
 * the name servers to which the record name itself is delegated. Ends after at most nine queries.
 */
function nextLook(wanted: WantedDelegation, looks: readonly LookedAt[]): Look | DelegationFinding {
  const recordName = normalForm(wanted.recordName);
  const target = normalForm(wanted.target);
  const last = looks.at(-1);
  if (last === undefined) return { name: recordName, type: 'CNAME' };
  if (last.result.kind === 'failure') return failed(recordName, target, last, last.result.reason);
  if (last.type === 'NS') return checkNameServers(recordName, target, last.result);
  const aliases = targetsOf('CNAME', last.name, last.result);
  const [alias] = aliases;
  if (aliases.length > 1) {
    return no(invalid(last.name, 'several', aliases, last.result));
  }
  if (alias === target) return { found: true, by: 'cname' };
  if (alias === undefined) return checkChainEnd(recordName, target, last, looks.length === 1);
  if (looks.some(({ name }) => name === alias)) {
    return no(invalid(recordName, 'circle', [alias], last.result));
  }
  if (looks.length >= CNAME_HOPS) {
    return no(invalid(recordName, 'too_long', [], last.result));
  }
  return { name: alias, type: 'CNAME' };
}

function checkChainEnd(name: string, expected: string, last: LookedAt, isRecordName: boolean) {
  const server = last.result.from;
  if (!isRecordName) {
    const found = listed([last.name]);
    return no({ code: 'dns_record_differs', name, expected, type: 'CNAME', found, isPartial: false, server });
  }
  if (last.result.kind === 'nxdomain') {
    return no({ code: 'dns_record_missing', name, expected, found: 'nxdomain', server });
  }
  return { name, type: 'NS' } as const;
}

/** Every name server must be ours: any other could serve the name as well. */
function checkNameServers(name: string, expected: string, result: LookUpResult): DelegationFinding {
  const server = result.from;
  const servers = targetsOf('NS', name, result);
  if (servers.length === 0) {
    return no({ code: 'dns_record_missing', name, expected, found: 'no_record', server });
  }
  const others = servers.filter((target) => target !== expected);
  if (others.length === 0) return { found: true, by: 'ns' };
  const found = listed(others);
  const isPartial = others.length < servers.length;
  const problem = {
    code: 'dns_record_differs',
    name,
    expected,
    type: 'NS',
    found,
    isPartial,
    server,
  } as const;
  return { found: false, problem, retryable: false, delegatedElsewhere: true };
}

/** Distinct targets of the records at exactly this name. A referral has its NS records in the authority section. */
export function targetsOf(type: 'CNAME' | 'NS', owner: string, result: LookUpResult): string[] {
  if (result.kind !== 'records') return [];
  const records = type === 'NS' ? [...result.answers, ...result.authority] : result.answers;
  const targets = records.flatMap((record) => {
    const isWanted = (record.type === 'CNAME' || record.type === 'NS') && record.type === type;
    return isWanted && normalForm(record.name) === owner ? [normalForm(record.data)] : [];
  });
  return [...new Set(targets)];
}

const retryable: Readonly<Record<LookUpFailure, boolean>> = {
  timeout: true,
  unreachable: true,
  servfail: true,
  malformed: true,
  aborted: true,
  refused: false,
  formerr: false,
  notimp: false,
  other_rcode: true,
  too_large: false,
  invalid_name: false,
};

function failed(name: string, expected: string, last: LookedAt, failure: LookUpFailure): DelegationFinding {
  const problem = {
    ...({ code: 'dns_lookup_failed', name, at: last.name, expected } as const),
    ...{ failure, server: last.result.from },
  };
  return { found: false, problem, retryable: retryable[failure] };
}

function no(problem: Outcome): DelegationFinding {
  return { found: false, problem, retryable: false };
}

function invalid(
  name: string,
  fault: 'several' | 'circle' | 'too_long',
  found: readonly string[],
  { from: server }: LookUpResult,
): Outcome {
  return { code: 'dns_record_invalid', name, fault, found: listed(found), server };
}
